/* SPDX-License-Identifier: Apache-2.0 */
/* earliest_start.h - when and where a number of pods could start together at
 * the earliest, by the known ends of running pods
 *
 * The ends are visited in order. At each of them, the node is asked for how
 * many such pods it has room (timeline.h), until all nodes together have enough
 * room, or those of one domain if all pods must be in one. Nodes that must be waited for are taken first, so that what is free now
 * stays free for pods that start earlier. If there are Reservations, the begins
 * and ends of their windows are visited, too.
 *
 * Called by:  planning/reservation_plan.c (reservations), start_estimate.c (`why`).
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
    const bool *may_come;                              /* by slot: whether the pods may run there */
    uint32_t n_slots;                                  /* in may_come */
    const uint32_t *domain_of; /* by slot, from 1 on, or 0: none; NULL: pods go anywhere */
    uint32_t n_domains;
    unsigned count;       /* pods like the cycle's */
    bool is_one_per_node; /* each of them on its own node */
    bool has_none_now;    /* a cycle found that no node has room now */
    uint32_t most_ends, most_trials;
    struct clock *clock; /* NULL: without a time limit */
    int64_t work_until_us;

    /* Checks what no filter knows; NULL: nothing. */
    bool (*is_enough)(const struct node_view *node, int64_t at_us, void *context);
    void *context;
};

struct start_answer {
    int64_t from_us;          /* 0: not known */
    int64_t last_us;          /* the last end that was visited; or 0 */
    bool is_cut;              /* a limit of the question was reached */
    uint32_t ends, trials;    /* how many were visited and made */
    struct node_view **nodes; /* one for each pod; NULL: not known */
    bool *are_free;           /* one for each pod: has room now */
};

void start_answer_fini(struct start_answer *a);
void earliest_start_find(const struct start_question *q, struct start_answer *ret);
