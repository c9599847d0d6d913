/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_waiter.h - a job that waits for others: an edge to each of them, and
 * how many of these are met
 *
 * Owns:       copies of the waiting job's key and uid, its edges and its gate. An
 *             edge stands in a list of its target or watch until it leaves.
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
    struct list link; /* of the target's edges, or of its watch's waiters */
    struct waiter *waiter;
    struct dependency_target *target; /* NULL: a singleton */
    struct task_watch *watch;         /* NULL: it waits for no single tasks */
    enum job_dependency_type type;
    enum job_dependency_verdict
        verdict; /* but for what time or others decide */
    bool is_by_element;
    int64_t delay_us;
    int64_t due_us; /* monotonic; 0: not known yet */
};

struct waiter {
    char *key;
    char *uid;
    bool is_any;
    struct element_gate *gate; /* NULL: it waits as a whole */
    unsigned n_edges;
    int n_met, n_never;
    struct edge *edges;
};

/* Life. New: it is told of all that its edges lead to from here on. Leave: takes
 * it out of all lists, and frees it. Free: what it leads to has gone before.
 */
void waiter_free(struct waiter *w);
struct waiter *waiter_new(const char *key,
                          const struct job *job,
                          struct dependency_targets *all) OWNED_BY(waiter_free);
void waiter_leave(struct waiter *w TAKES, struct dependency_targets *all);

/* Decided: whatever becomes of the edges that wait still. Current: it waits for
 * the same as that job, which waits for something.
 */
bool waiter_is_decided(const struct waiter *w);
bool waiter_is_current(const struct waiter *w, const struct job *job);

/* The elements of an array wait each for its own. Any of several is waited for as
 * a whole.
 */
bool waiter_waits_by_element(const struct job *job);

/* Its verdict by what is known of the target or the watch now. */
void edge_judge(struct edge *e);
