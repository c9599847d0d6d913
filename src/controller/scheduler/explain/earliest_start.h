/* SPDX-License-Identifier: Apache-2.0 */
/* earliest_start.h - when so many pods could start together at the earliest,
 * and where, by the known ends of what runs
 *
 * The ends are gone through in their order. At each, its node is asked how many
 * such pods it has room for (timeline.h), until all nodes together have room
 * for as many as are wanted. Nodes that have to be waited for are taken first,
 * so that what is free now stays free for those who pass. Where Reservations
 * have nodes, the ends of their windows are gone through, too.
 *
 * Called by:  reservations.c (reservations), start_estimate.c (`why`).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/timeline.h"

struct cache;
struct clock;
struct node_reservations;
struct node_view;
struct snapshot;

struct start_question {
    struct what_if what_if;
    const struct cache *cache;
    const struct snapshot *snapshot;
    const struct node_reservations *node_reservations; /* NULL: none */
    const bool *may_come; /* nodes by slot: those that can do at all */
    uint32_t n_slots;     /* of them */
    unsigned count;       /* pods like the cycle's, together */
    bool has_none_now;    /* no node has room now: a cycle found that */
    uint32_t most_ends, most_trials;
    struct clock *clock; /* NULL: it may take as long as that takes */
    int64_t work_until_us;

    /* Asks for what no filter knows; NULL: there is nothing. */
    bool (*is_enough)(const struct node_view *node,
                      int64_t at_us,
                      void *context);
    void *context;
};

struct start_answer {
    int64_t from_us;          /* 0: nobody knows */
    int64_t last_us;          /* the end that was looked at last; or 0 */
    bool is_cut;              /* the question's bounds were reached */
    uint32_t ends, trials;    /* what it took */
    struct node_view **nodes; /* one a pod; NULL: nobody knows */
    bool *are_free;           /* likewise: it has that room now */
};

void start_answer_fini(struct start_answer *a);
void earliest_start_find(const struct start_question *q,
                         struct start_answer *ret);
