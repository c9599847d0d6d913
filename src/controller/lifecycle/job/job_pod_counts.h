/* SPDX-License-Identifier: Apache-2.0 */
/* job_pod_counts.h - counts of one Job's pods by their states, kept up to date
 *
 * The counts start from the Job's status and the present pods; from then on
 * each change of a pod is applied in constant time, whatever the number of
 * indexes. The counts include all pods that were ever made. A pod that is gone,
 * and whose end is not known, has failed; one of a gang is excused, since the
 * end that was its attempt's is known.
 *
 * Excused pods do not count as failed: those that end while a job is suspended
 * or requeued (job_pod_counts_excuses); those that podFailurePolicy ignores;
 * where spec.requeue is set, those lost with their node; and those that were
 * more than the Job wanted.
 *
 * A pod is active, and so not replaced, until it has ended. With the
 * podReplacementPolicy TerminatingOrFailed, it counts as failed as soon as it
 * is asked to end; but not while its node is silent: a process that may still
 * run is not replaced before the node is fenced.
 *
 * Pods are numbered per index: attempt 0, 1, ... A job of one completion has
 * the index 0; a NonIndexed job of several gives each new pod a new index.
 *
 * Owns:       copies of everything in it; it holds no object.
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

/* How many pods have ended, by outcome. */
struct job_pod_ends {
    int64_t succeeded, failed, excused;
};

struct job_pod_counts {
    char *job_uid;
    bool is_numbered; /* pods belong to indexes; otherwise they are only
                       * counted */

    int64_t made, active, succeeded, failed, excused;
    int64_t n_written;               /* ends in the status when the counts were made */
    struct job_pod_ends unwritten;   /* ends seen beyond n_written */
    int64_t live, ready;             /* pods neither ended nor asked to end */
    int64_t placed, running, silent; /* of live: pods that have a node, run
                                      * on it, or whose node is silent */
    int64_t ending;                  /* pods asked to end that have not ended */
    int64_t deleting;                /* pods with a deletion timestamp that are not gone */
    int64_t next_index;
    int64_t failures_in_a_row; /* since the last success */
    int64_t last_failure_us, last_success_us;
    int64_t refusals;         /* rounds in a row of pods that no node started */
    int64_t refused_at_us;    /* creation time of the last round's pods */
    int64_t maximum_requeues; /* how often the job may start again; 0: any
                               * number */
    int64_t began_us;         /* when its first pod was created; 0: not known */
    char *fail_message;       /* of the rule that fails the job; NULL: none does */
    int64_t to_freeze;        /* pods with a node that are marked to be frozen */
    int64_t frozen;           /* running pods that are frozen */
    int64_t over;             /* running pods that their agents end */
    int64_t held;             /* live pods without a node that are marked as held */
    char *yields_to;          /* "job 51 of u2": the job for which the last seen pod is
                    * frozen; or NULL */
    char *refusal;            /* the API's message for the last refused create; NULL:
                    * none since a pod was created */
    enum job_state failure;   /* how the pod that failed last has ended */
    int64_t failure_us;
    char *cause;         /* of a gang: which pod ended the script; or NULL */
    bool failure_is_own; /* of a gang: that pod was not ended by others */
    struct job_last_run run;
    const struct dependency_answer *waits_for; /* set during a sync: what is
                                                * known of other jobs; NULL:
                                                * the job waits for none */

    struct array_state *array; /* NULL: the job is not an array */
    struct map *pods;          /* present pods, by name, to their pod_sight
                                * bits */
    struct index_counts indexes;

    struct list expected; /* pending creates, whose pods have not been seen */
    int64_t n_expected;
};

/* Life. New reads the status. Then job_pod_counts_see is called for each
 * present pod, then removed_counts_see, and last job_pod_counts_settle, which
 * counts the absent ones.
 */
void job_pod_counts_free(struct job_pod_counts *counts);
struct job_pod_counts *job_pod_counts_new(const struct job *job) OWNED_BY(job_pod_counts_free);
DEFINE_CLEANUP(struct job_pod_counts, job_pod_counts_free)
void job_pod_counts_settle(struct job_pod_counts *counts, const struct job *job);

/* See: a pod as it is now. See_gone: a deleted pod, as it was last. */
void job_pod_counts_see(struct job_pod_counts *counts, const struct job *job,
                        const struct pod *pod);
void job_pod_counts_see_gone(struct job_pod_counts *counts, const struct job *job,
                             const struct pod *last);

/* A create that was sent counts as a pod until the pod is seen, the create is
 * refused, or `until_us` has passed. Refuse stores the message; if the pod has
 * not been seen, it no longer counts.
 */
void job_pod_counts_expect(struct job_pod_counts *counts, int64_t index, int64_t attempt,
                           int64_t until_us);
bool job_pod_counts_expects(const struct job_pod_counts *counts, int64_t index, int64_t attempt);
void job_pod_counts_set_refusal(struct job_pod_counts *counts, const char *words);
void job_pod_counts_refuse(struct job_pod_counts *counts, int64_t index, int64_t attempt,
                           const char *words);
void job_pod_counts_expire(struct job_pod_counts *counts, int64_t now_us);
bool job_pod_counts_is_overdue(const struct job_pod_counts *counts, int64_t now_us);

/* When the next attempt may be made, after pods that were not started through
 * no fault of the job; 0: at once. The wait uses the API server's clock only,
 * since a node's clock may differ.
 */
int64_t job_pod_counts_retry_at_us(const struct job_pod_counts *counts);

/* Whether the status says that the job is suspended; whether the job is to be
 * requeued; whether either excuses its pods.
 */
bool job_pod_counts_is_suspended(const struct job *job);
bool job_pod_counts_is_requeued(const struct job *job, int64_t *ret_before);
bool job_pod_counts_excuses(const struct job *job);
