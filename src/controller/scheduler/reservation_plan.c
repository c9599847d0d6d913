/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a reservation: when and where its pods could start together,
 * beside the reservations before it in the order.
 */
#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/scheduler_state.h"
#include "lib/base/clock.h"

/* How many nodes one plan asks filters about, where amounts alone do not
 * decide.
 */
#define PLAN_TRIALS 4096

static bool
is_same_place(const struct reservation *r, const struct start_answer *a)
{
    if (r->places == NULL || r->from_us < a->from_us)
        return false;
    for (unsigned i = 0; i < r->count; i++)
        if (r->places[i].node != a->nodes[i])
            return false;
    return true;
}

/* The members are equal, so they exchange nodes until each keeps the node that
 * it had, if possible: then nothing new is to be reported for it.
 */
static void
keep_nodes(const struct reservation *r, struct start_answer *a)
{
    for (unsigned i = 0; r->places != NULL && i < r->count; i++) {
        struct node_view *node = r->places[i].node;
        unsigned at = 0;
        bool is_free;

        if (a->nodes[i] == node)
            continue;
        while (at < r->count && (a->nodes[at] != node || r->places[at].node == node))
            at++;
        if (at == r->count)
            continue;
        is_free = a->are_free[at];
        a->nodes[at] = a->nodes[i];
        a->are_free[at] = a->are_free[i];
        a->nodes[i] = node;
        a->are_free[i] = is_free;
    }
}

bool
scheduler_plan_reservation(struct scheduler *s, const struct reservation *r,
                           struct start_answer *ret_start, bool *ret_is_moved)
{
    struct timeline *t = s->handle.timeline;
    struct start_answer *a = ret_start;
    struct cycle cycle;

    *ret_is_moved = false;
    timeline_init_cycle(&cycle, r->profile, r->members[0], &s->snapshot);
    earliest_start_find(
        &(struct start_question){.what_if = {.timeline = t,
                                             .profile = r->profile,
                                             .filters = r->profile->rooms,
                                             .cycle = &cycle,
                                             .n_binding = timeline_rank(t, &r->order),
                                             .now_us = clock_real_us(s->settings.clock)},
                                 .cache = s->cache,
                                 .node_reservations = s->handle.node_reservations,
                                 .snapshot = &s->snapshot,
                                 .may_come = r->may_come,
                                 .n_slots = r->n_slots,
                                 .count = r->count,
                                 .is_one_per_node = r->is_one_per_node,
                                 .most_ends = UINT32_MAX,
                                 .most_trials = PLAN_TRIALS},
        a);
    cycle_fini(&cycle);
    if (a->from_us <= 0 || !pod_view_is_in_time(r->members[0], a->from_us))
        return false;
    keep_nodes(r, a);
    *ret_is_moved = !is_same_place(r, a);
    return true;
}
