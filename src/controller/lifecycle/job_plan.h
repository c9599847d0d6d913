/* SPDX-License-Identifier: Apache-2.0 */
/* job_plan.h - what a Job needs next, from the Job and its pods alone
 *
 * A pure function of what is known: no clock, no client, no memory of its own
 * beyond the Job's status. Upstream's semantics of completions, parallelism,
 * backoffLimit, completionMode, suspend and activeDeadlineSeconds; besides:
 * begin times, pods lost without a fault of theirs (condition
 * DisruptionTarget) that are replaced when spec.requeue says so, another
 * attempt when ANNOTATION_REQUEUE_BEFORE asks for one (the pods made before are
 * deleted and not held against the job), and the end when ANNOTATION_CANCEL
 * is there.
 *
 * Pods are numbered per index: attempt 0, 1, ... A NonIndexed job of one
 * completion has the index 0; one of several gives each new pod a new index.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct job;
struct json;
struct object;
struct pod;

/* What became of the job's pods, filled in one by one. */
struct job_tally;
void job_tally_free(struct job_tally *tally);
struct job_tally *job_tally_new(const struct job *job) OWNED_BY(job_tally_free);
DEFINE_CLEANUP(struct job_tally, job_tally_free)
void job_tally_add(struct job_tally *tally, const struct pod *pod);

/* A pod that a create was sent for and that nobody has seen yet. */
void
job_tally_add_expected(struct job_tally *tally, int64_t index, int64_t attempt);

/* A pod to be made. */
struct job_plan_pod {
    int64_t index;
    int64_t attempt;
};

struct job_plan {
    struct job_plan_pod *create; /* in the arena */
    unsigned n_create;
    bool delete_active;    /* the job is over, suspended or requeued */
    int64_t wake_after_us; /* look again then; 0: when something changes */
    struct json *status;   /* a merge patch's "status", or NULL: no change */
    bool status_is_urgent; /* a change of condition: not to be put off */
};

/* At most `limit` pods are planned at a time. `now_us` is real time. */
void job_plan(const struct job *job,
              const struct job_tally *tally,
              int64_t now_us,
              unsigned limit,
              struct arena *arena,
              struct job_plan *ret_plan);

/* "sweep-7", "sweep-7-r2", and back: false when the name is not of the job. */
char *job_pod_name(struct arena *arena,
                   const char *job,
                   int64_t index,
                   int64_t attempt);
bool job_pod_name_parse(const char *job,
                        const char *pod,
                        int64_t *ret_index,
                        int64_t *ret_attempt);
