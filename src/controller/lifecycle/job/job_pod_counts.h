/* SPDX-License-Identifier: Apache-2.0 */
/* job_pod_counts.h - what became of the pods of one Job, kept up to date
 *
 * Begun from the Job's status and the pods that are there; from then on each
 * change of a pod is noted in constant time, whatever the number of indexes.
 * Counts are of all pods that were ever made: one that was made and is gone,
 * and of whose end nobody knows, has failed.
 *
 * Except for those that are excused: while a job is suspended or requeued
 * (job_pod_counts_excuses), the pods that are ended for it are not held against
 * it; nor are those that podFailurePolicy ignores, or, where spec.requeue says
 * so, those lost with their node; nor those that are more than the Job wants.
 *
 * A pod is active, which keeps its place from others, until it has ended; or,
 * with the podReplacementPolicy TerminatingOrFailed, until it is asked to end,
 * and has failed by that. But not while its node is silent: what runs there is
 * not replaced before it is fenced.
 *
 * Pods are numbered per index: attempt 0, 1, ... A job of one completion has
 * the index 0; a NonIndexed job of several gives each new pod a new index.
 *
 * Owns:       copies of all that it knows; it holds no object.
 * Thread:     the lifecycle loop's.
 * Invariant:  made + expected = active + succeeded + failed + excused, where
 *             `made` are the pods that have been seen, or counted in the Job's
 *             status.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/job/index_counts.h"
#include "controller/lifecycle/job/job_last_run.h"
#include "lib/api/job/job_state.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct dependency_answer;
struct array_state;
struct job;
struct map;
struct pod;

/* How many pods have ended, and how. */
struct job_pod_ends {
    int64_t succeeded, failed, excused;
};

struct job_pod_counts {
    char *job_uid;
    bool is_numbered; /* pods are of indexes; else they are only counted */

    int64_t made, active, succeeded, failed, excused;
    int64_t n_written; /* ends that the status had when this was begun */
    struct job_pod_ends unwritten; /* of those seen: the ones behind them */
    int64_t live, ready; /* pods that have not ended, nor are asked to */
    int64_t placed, running, silent; /* of these: those that have a node, run
                                      * there, or whose node is not heard of */
    int64_t ending;                  /* those that are asked to, and have not */
    int64_t deleting; /* those that are asked to go and are not gone */
    int64_t next_index;
    int64_t failures_in_a_row; /* since the last success */
    int64_t last_failure_us, last_success_us;
    int64_t refusals; /* rounds of pods that no node started, since one ran */
    int64_t refused_at_us;    /* when the pods of the last round were made */
    int64_t maximum_requeues; /* how often it may start anew; 0: any number */
    int64_t began_us;         /* when its first pod was made; 0: not known */
    char *fail_message; /* of the rule that fails the job; NULL: none has */
    int64_t to_freeze;  /* running pods that are marked to stand still, */
    int64_t frozen;     /* and those that do */
    int64_t held;       /* live pods without a node that are marked as held */
    char *
        yields_to; /* "job 51 (user u2)": the pod seen last that stands still for
                        another; or NULL */
    char *refusal; /* the API's words for the create that it refused last; NULL:
                    * none since a pod was made */
    enum job_state failure; /* how the pod that failed last has */
    int64_t failure_us;
    struct job_last_run run;
    const struct dependency_answer *waits_for; /* what is known of other jobs in
                                                * this look; NULL: it waits for
                                                * none */

    struct array_state *array; /* NULL: it is none */
    struct map *pods;          /* those that are there, to how they were */
    struct index_counts indexes;

    struct list expected; /* creates whose pods have not been seen yet */
    int64_t n_expected;
};

/* Life: from the status; then job_pod_counts_see for each pod that is there,
 * then job_pod_counts_settle, which counts those that are not.
 */
void job_pod_counts_free(struct job_pod_counts *counts);
struct job_pod_counts *job_pod_counts_new(const struct job *job)
    OWNED_BY(job_pod_counts_free);
DEFINE_CLEANUP(struct job_pod_counts, job_pod_counts_free)
void job_pod_counts_settle(struct job_pod_counts *counts,
                           const struct job *job);

/* Change: a pod as it is now; or as it was last, when it is gone. */
void job_pod_counts_see(struct job_pod_counts *counts,
                        const struct job *job,
                        const struct pod *pod);
void job_pod_counts_see_gone(struct job_pod_counts *counts,
                             const struct job *job,
                             const struct pod *last);

/* A create that was sent counts as a pod until it is seen, refused, or its
 * time is over. Refuse remembers why, and counts no more one that has not been
 * seen.
 */
void job_pod_counts_expect(struct job_pod_counts *counts,
                           int64_t index,
                           int64_t attempt,
                           int64_t until_us);
void job_pod_counts_set_refusal(struct job_pod_counts *counts,
                                const char *words);
void job_pod_counts_refuse(struct job_pod_counts *counts,
                           int64_t index,
                           int64_t attempt,
                           const char *words);
void job_pod_counts_expire(struct job_pod_counts *counts, int64_t now_us);
bool job_pod_counts_is_overdue(const struct job_pod_counts *counts,
                               int64_t now_us);

/* When the next attempt may be made, after pods that were not started for no
 * fault of the job's; 0: at once. By the API server's clock alone: that of a
 * node may be another.
 */
int64_t job_pod_counts_retry_at_us(const struct job_pod_counts *counts);

/* Whether the status says that the job is held, or is asked to begin anew. */
bool job_pod_counts_is_suspended(const struct job *job);
bool job_pod_counts_is_requeued(const struct job *job, int64_t *ret_before);
bool job_pod_counts_excuses(const struct job *job);
