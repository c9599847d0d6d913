/* SPDX-License-Identifier: Apache-2.0 */
/* job_update.h - which parts of a Job's template may change after its creation
 *
 * Upstream's template never changes, except for a few members while the Job is
 * suspended. Kiln's template may change as long as no pod of the Job has a
 * node: its time limit, its size, its placement, its directory, its files and its priority; for pods that
 * have a node, only the time limit. An array's template may change at any time;
 * its pods that have a node then stay as they are. Each change gets a number,
 * ANNOTATION_UPDATE of the Job, which its pods copy: a pod with another number
 * is outdated. It gets no node before the job controller has updated it.
 *
 * Thread:  any; pure functions of trees.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

enum job_update {
    JOB_UPDATE_NONE,    /* the templates are equal */
    JOB_UPDATE_LIMIT,   /* only the time limit differs */
    JOB_UPDATE_WAITING, /* parts that may change while it waits */
    JOB_UPDATE_OTHER,   /* parts that may never change */
};

/* Compares two templates. */
enum job_update job_update_compare(struct arena *arena, const struct json *template_,
                                   const struct json *old);

/* Set the update number of a Job's tree: to the old object's, or to the next
 * one.
 */
void job_update_keep_number(struct arena *arena, struct json *job, const struct json *old);
void job_update_count(struct arena *arena, struct json *job, const struct json *old);

/* Whether pod and Job have the same update number; either may be the older one.
 */
struct meta;
bool job_update_is_current(const struct meta *pod, const struct meta *job);

/* Updates the tree of a pod from the tree of its Job, including the number. A
 * pod with a node gets only the time limit.
 */
void job_update_pod(struct arena *arena, struct json *pod, const struct json *job);

/* Lets a pod of this spec go to the nodes of a partition, or of several
 * separated by commas, instead of the former ones, also if a former release set
 * those by labels.
 */
void job_update_set_partition(struct arena *arena, struct json *spec, const char *list);
