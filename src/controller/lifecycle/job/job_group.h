/* SPDX-License-Identifier: Apache-2.0 */
/* job_group.h - the PodGroup of a Job whose pods are placed together
 *
 * It has the name of the Job, which owns it, and the pods name it. Its minCount
 * follows the Job's. If the attempts of the Job are whole (execution.runs), each
 * has a group of its own, job-1042 or job-1042-r1, which is created with all of
 * its pods in one transaction, or none of them is.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

struct job_plan_pod;
struct job_pod_counts;
struct job_sync;
struct object_cache;
struct workqueue;

/* Creates the group, or updates it; nothing for a Job that has none. */
void job_group_sync(struct job_sync *sync, const struct object_cache *cache,
                    const struct job_pod_counts *counts);

/* Creates an attempt: its group and all of its pods. */
void job_group_make_attempt(struct job_sync *sync, const struct object_cache *cache,
                            const struct job_plan_pod *pods, unsigned n);

/* From now on Jobs whose group is deleted are queued. */
void job_group_follow(struct object_cache *cache, struct workqueue *queue);
