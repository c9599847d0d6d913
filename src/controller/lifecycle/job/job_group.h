/* SPDX-License-Identifier: Apache-2.0 */
/* job_group.h - the PodGroup of a Job whose pods are placed together
 *
 * It has the name of the Job, which owns it, and the pods name it. Its minCount
 * follows the Job's.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

struct job_sync;
struct object_cache;

/* Creates the group, or updates it; nothing for a Job that has none. */
void job_group_sync(struct job_sync *sync, const struct object_cache *cache);
