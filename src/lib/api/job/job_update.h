/* SPDX-License-Identifier: Apache-2.0 */
/* job_update.h - what of a Job's template may change after the Job was made
 *
 * Upstream's template never changes, but for a few members while the Job is
 * suspended. Kiln's may as long as no pod of the Job has a node: its time limit,
 * its size, where it may go and how important it is; and the time limit alone
 * of pods that have one. Each such change is numbered, by ANNOTATION_UPDATE of
 * the Job, which its pods have from it: one that has another number is not as
 * its Job says any more. It gets no node before the job controller has changed
 * it, too.
 *
 * Thread:  any; pure functions of trees.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

enum job_update {
    JOB_UPDATE_NONE,    /* they are the same */
    JOB_UPDATE_LIMIT,   /* the time limit alone */
    JOB_UPDATE_WAITING, /* what may change while it waits */
    JOB_UPDATE_OTHER,   /* more than ever may */
};

/* Compares two templates. */
enum job_update job_update_compare(struct arena *arena,
                                   const struct json *template_,
                                   const struct json *old);

/* The number of a Job's tree becomes that of the old one, or the next. */
void job_update_keep_number(struct arena *arena,
                            struct json *job,
                            const struct json *old);
void
job_update_count(struct arena *arena, struct json *job, const struct json *old);

/* Whether a pod is as its Job says, whichever of the two is a former one. */
struct meta;
bool job_update_is_current(const struct meta *pod, const struct meta *job);

/* Makes the tree of a pod what the tree of its Job says, number included. One
 * that has a node takes the time limit alone.
 */
void
job_update_pod(struct arena *arena, struct json *pod, const struct json *job);

/* A pod of this spec may go to the nodes of a partition, or of several with commas
 * between, in place of the one before, also where a former release said that by
 * labels.
 */
void job_update_set_partition(struct arena *arena,
                              struct json *spec,
                              const char *list);
