/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_waiter.h - a job that waits for others, with an edge for each of
 * its dependencies and the number of dependencies that are met
 *
 * Owns:       copies of the waiting job's key and uid, its edges and its gate.
 *             An edge is in a list of its target or watch until dependency_waiter_leave.
 * Called by:  dependencies.c.
 * Thread:     the lifecycle loop's.
 * Invariant:  n_met and n_never count the edges by their verdicts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_dependency.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct dependency_target;
struct dependency_targets;
struct element_gate;
struct job;
struct task_watch;

struct waiter;

struct edge {
    struct list link; /* in the target's edges or the watch's waiters */
    struct waiter *waiter;
    struct dependency_target *target; /* NULL: a singleton, or decided
                                       * already */
    struct task_watch *watch;         /* NULL: not for numbered tasks */
    enum job_dependency_type type;
    enum job_dependency_verdict
        /* Leaves out delays, single elements and singletons: those are judged
         * when the verdict is asked for.
         */
        verdict;
    bool is_by_element;
    int64_t delay_us;
    int64_t began_us; /* real time; without a target: when that job had begun; 0:
                       * not known */
    int64_t due_us;   /* monotonic; 0: not known yet */
};

struct waiter {
    char *key;
    char *uid;
    bool is_any;
    struct element_gate *gate; /* NULL: the job waits as a whole */
    unsigned n_edges;
    int n_met, n_never;
    struct edge *edges;
};

/* Life. New links the edges into the targets, so that the waiter is woken by
 * changes of them from then on. Leave unlinks the edges and frees the waiter.
 * Free is for when the targets were freed before.
 */
void dependency_waiter_free(struct waiter *w);
struct waiter *dependency_waiter_new(const char *key, const struct job *job,
                                     struct dependency_targets *all)
    OWNED_BY(dependency_waiter_free);
void dependency_waiter_leave(struct waiter *w TAKES, struct dependency_targets *all);

/* Whether the verdict does not depend on the edges that still wait. */
bool dependency_waiter_is_decided(const struct waiter *w);

/* Whether the waiter has the same dependencies as the job, which must have some. */
bool dependency_waiter_is_current(const struct waiter *w, const struct job *job);

/* Whether each element of the array waits for its own counterpart. An array
 * that waits for any of several jobs waits as a whole.
 */
bool dependency_waiter_waits_by_element(const struct job *job);

/* Sets the verdict from the present state of the target or the watch. */
void dependency_edge_judge(struct edge *e);
