/* SPDX-License-Identifier: Apache-2.0 */
/* The walk goes from end to end, since room appears only there, and it tries a node only if
 * the amounts that have ended by then could suffice: comparing amounts costs nothing beside a
 * run of the filters. The number of trials and the time are bounded by the caller, for the
 * walk may cross all ends of a cluster.
 *
 * At each end it stops as soon as enough nodes together have room. It takes nodes that had to
 * be waited for before those that are free now, because the latter are what smaller pods can
 * use until then.
 */
#include "controller/scheduler/explain/earliest_start.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/amounts.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/sets/node_set.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/state/cache.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* How many ends are visited between two checks of the clock. */
#define ENDS_A_LOOK 64u

/* At most this many begins and ends of Reservations are visited, the first
 * ones.
 */
#define TURNS 64u

/* The state of a node at the time of the walk. */
struct walked_node {
    struct amounts freed; /* by the ends so far */
    unsigned room, room_now;
};

struct start_walk {
    const struct start_question *q;
    struct walked_node *walked;    /* by slot */
    unsigned *rooms;               /* of all nodes of a domain together; of all nodes: [0] */
    unsigned n_ready;              /* domains that have room for all pods */
    int64_t at_us;                 /* never decreases */
    unsigned next;                 /* index of the reservation that ends next */
    struct reservation **reserved; /* by their ends */
    int64_t turns[TURNS];          /* when nodes are released, in order */
    unsigned n_turns, next_turn;
    struct node_bits withheld; /* by Reservations */
    int64_t withheld_at_us;    /* valid for this time; 0: never set */
    struct start_answer *ret;
};

void
start_answer_fini(struct start_answer *a)
{
    free(a->nodes);
    free(a->are_free);
    *a = (struct start_answer){0};
}

/* Compares amounts only, so that most ends need no trial. */
static bool
may_fit(const struct start_walk *w, const struct node_view *node)
{
    const struct amounts *needs = &w->q->what_if.cycle->pod->requests;
    const struct amounts *freed = &w->walked[node->slot].freed;
    const struct amounts *has = &node->allocatable, *used = &node->ledger.requested;

    if (needs->cpu_milli > has->cpu_milli - used->cpu_milli + freed->cpu_milli
        || needs->memory_bytes > has->memory_bytes - used->memory_bytes + freed->memory_bytes)
        return false;
    for (uint32_t i = 0; i < needs->n_scalars; i++) {
        uint32_t resource = needs->scalars[i].resource;

        if (needs->scalars[i].value > amounts_scalar(has, resource) - amounts_scalar(used, resource)
                                          + amounts_scalar(freed, resource))
            return false;
    }
    return true;
}

static int64_t
until_us(const struct start_walk *w)
{
    int64_t limit_us = timeline_limit_us(w->q->what_if.cycle->pod);

    return limit_us < INT64_MAX - w->at_us ? w->at_us + limit_us : INT64_MAX;
}

/* Few Reservations withhold many nodes, so this does not count as a trial. */
static bool
is_withheld(struct start_walk *w, const struct node_view *node)
{
    const struct start_question *q = w->q;

    if (q->node_reservations == NULL || node->ledger.n_future == 0
        || node_reservations_name(q->what_if.cycle->pod) != NULL)
        return false;
    if (w->withheld_at_us != w->at_us) {
        w->withheld_at_us = w->at_us;
        node_reservations_find_withheld(q->node_reservations, w->at_us, until_us(w), &w->withheld);
    }
    return node_bits_has(&w->withheld, node->slot);
}

static unsigned
room_of(struct start_walk *w, struct node_view *node)
{
    const struct start_question *q = w->q;
    unsigned room;

    if (is_withheld(w, node))
        return 0;
    w->ret->trials++;
    room =
        timeline_room(&q->what_if, node, w->at_us, until_us(w), q->is_one_per_node ? 1 : q->count);
    return room > 0 && q->is_enough != NULL && !q->is_enough(node, w->at_us, q->context) ? 0 : room;
}

static uint32_t
domain_of(const struct start_walk *w, const struct node_view *node)
{
    const struct start_question *q = w->q;

    return q->domain_of == NULL || node->slot >= q->n_slots ? 0 : q->domain_of[node->slot];
}

static void
try_node(struct start_walk *w, struct node_view *node)
{
    struct walked_node *p = &w->walked[node->slot];
    unsigned *of_domain = &w->rooms[domain_of(w, node)];
    unsigned room = room_of(w, node);

    w->n_ready -= *of_domain >= w->q->count;
    *of_domain += room - p->room;
    w->n_ready += *of_domain >= w->q->count;
    p->room = room;
}

/* Chooses nodes that have no room now before those that have. Asks about a node
 * again if reserved pods may have come to it since. False: there are too few.
 */
static bool
choose_nodes_of(struct start_walk *w, uint32_t domain)
{
    const struct start_question *q = w->q;
    const struct snapshot *s = q->snapshot;
    unsigned count = 0;

    for (unsigned turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < s->n_nodes && count < q->count; i++) {
            struct node_view *node = s->nodes[i];
            struct walked_node *p = &w->walked[node->slot];

            if (p->room == 0 || (p->room_now > 0) != (turn == 1) || domain_of(w, node) != domain)
                continue;
            if (q->what_if.n_binding > 0 || node->ledger.n_future > 0)
                try_node(w, node);
            for (unsigned n = 0; n < p->room && count < q->count; n++) {
                w->ret->are_free[count] = n < p->room_now;
                w->ret->nodes[count++] = node;
            }
        }
    return count == q->count;
}

static bool
choose_nodes(struct start_walk *w)
{
    for (uint32_t i = 0; i <= w->q->n_domains; i++)
        if (w->rooms[i] >= w->q->count && choose_nodes_of(w, i))
            return true;
    return false;
}

static bool
is_too_much(const struct start_walk *w)
{
    const struct start_question *q = w->q;

    return w->ret->trials >= q->most_trials
           || (q->clock != NULL && clock_monotonic_us(q->clock) > q->work_until_us);
}

/* Moves on to that time, when everything that ends before it was visited.
 * False: all pods have room before that time, and their nodes are chosen.
 */
static bool
advance_to(struct start_walk *w, int64_t at_us)
{
    const struct start_question *q = w->q;

    if (at_us <= w->at_us)
        return true;
    if (w->n_ready == 0) {
        w->at_us = at_us;
        return true;
    }
    if (w->ret->nodes == NULL) {
        w->ret->nodes = xnew_array(struct node_view *, q->count);
        w->ret->are_free = xnew_array(bool, q->count);
    }
    if (choose_nodes(w)) {
        w->ret->from_us = w->at_us;
        return false;
    }
    w->at_us = at_us;
    return true;
}

static bool
is_candidate(const struct start_walk *w, const struct node_view *node)
{
    return node->object != NULL && node->slot < w->q->n_slots && w->q->may_come[node->slot]
           && (w->q->domain_of == NULL || w->q->domain_of[node->slot] != 0);
}

/* Visits the ends of reservations, which release room, too. */
static bool
visit_reserved(struct start_walk *w, int64_t end_us)
{
    for (; w->next < w->q->what_if.n_binding && w->reserved[w->next]->until_us <= end_us;
         w->next++) {
        const struct reservation *r = w->reserved[w->next];

        if (r->places == NULL || r->until_us == INT64_MAX)
            continue;
        if (!advance_to(w, r->until_us))
            return false;
        for (unsigned i = 0; i < r->count; i++)
            if (is_candidate(w, r->places[i].node) && may_fit(w, r->places[i].node))
                try_node(w, r->places[i].node);
    }
    return true;
}

/* Visits the begins and ends of Reservations, where nodes may be released or
 * withheld.
 */
static bool
visit_turns(struct start_walk *w, int64_t end_us)
{
    const struct snapshot *s = w->q->snapshot;

    for (; w->next_turn < w->n_turns && w->turns[w->next_turn] <= end_us; w->next_turn++) {
        if (!visit_reserved(w, w->turns[w->next_turn]) || !advance_to(w, w->turns[w->next_turn]))
            return false;
        for (uint32_t i = 0; i < s->n_nodes && !is_too_much(w); i++)
            if (s->nodes[i]->ledger.n_future > 0 && is_candidate(w, s->nodes[i])
                && may_fit(w, s->nodes[i]))
                try_node(w, s->nodes[i]);
    }
    return true;
}

static bool
visit_end(const struct pod_view *pod, struct node_view *node, int64_t end_us, void *context)
{
    struct start_walk *w = context;
    struct amounts *freed = &w->walked[node->slot].freed;
    int64_t moved_us;

    w->ret->ends++;
    if (!is_candidate(w, node))
        return true;
    if (w->ret->ends % ENDS_A_LOOK == 0 && is_too_much(w)) {
        w->ret->is_cut = true;
        return false;
    }
    moved_us = timeline_end_us(pod, w->q->what_if.now_us);
    /* The later a pod starts, the later it ends, so a pod that has not started
     * ends later than the cache has it.
     */
    if (end_us < moved_us)
        end_us = moved_us;
    if (!visit_turns(w, end_us) || !visit_reserved(w, end_us) || !advance_to(w, end_us))
        return false;
    w->ret->last_us = w->at_us;
    amounts_add(freed, &pod->requests);
    freed->cpu_milli += pod_view_charged_milli(pod) - pod->requests.cpu_milli;
    if (!may_fit(w, node))
        return true;
    w->ret->is_cut = is_too_much(w);
    if (!w->ret->is_cut)
        try_node(w, node);
    return !w->ret->is_cut;
}

/* Some of several pods may have room already. */
static void
try_present(struct start_walk *w)
{
    const struct snapshot *s = w->q->snapshot;

    for (uint32_t i = 0; i < s->n_nodes && w->n_ready == 0; i++) {
        struct node_view *node = s->nodes[i];

        if (!is_candidate(w, node) || !may_fit(w, node))
            continue;
        try_node(w, node);
        w->walked[node->slot].room_now = w->walked[node->slot].room;
    }
}

static int
compare_ends(const void *a, const void *b)
{
    const struct reservation *ra = *(struct reservation *const *)a;
    const struct reservation *rb = *(struct reservation *const *)b;

    return (ra->until_us > rb->until_us) - (ra->until_us < rb->until_us);
}

static void
sort_reserved(struct start_walk *w)
{
    unsigned count = w->q->what_if.n_binding;

    w->reserved = xnew_array(struct reservation *, count + 1);
    for (unsigned i = 0; i < count; i++)
        w->reserved[i] = timeline_at(w->q->what_if.timeline, i);
    qsort(w->reserved, count, sizeof(struct reservation *), compare_ends);
}

/* Keeps the first of these times, in order and without duplicates. */
static void
add_turn(int64_t at_us, void *context)
{
    struct start_walk *w = context;
    unsigned at = w->n_turns;

    while (at > 0 && w->turns[at - 1] > at_us)
        at--;
    if (at == TURNS || (at > 0 && w->turns[at - 1] == at_us))
        return;
    w->n_turns -= w->n_turns == TURNS;
    memmove(w->turns + at + 1, w->turns + at, (w->n_turns - at) * sizeof(w->turns[0]));
    w->turns[at] = at_us;
    w->n_turns++;
}

static void
find_turns(struct start_walk *w)
{
    const struct start_question *q = w->q;

    if (q->node_reservations != NULL)
        node_reservations_visit_turns(q->node_reservations, q->what_if.cycle->pod,
                                      q->what_if.now_us, add_turn, w);
}

void
earliest_start_find(const struct start_question *q, struct start_answer *ret)
{
    uint32_t n_slots = q->snapshot->n_slots;
    struct start_walk w = {
        .q = q,
        .walked = xnew_array(struct walked_node, n_slots + 1),
        .rooms = xnew_array(unsigned, q->n_domains + 1),
        .at_us = q->what_if.now_us,
        .ret = ret,
    };

    *ret = (struct start_answer){0};
    sort_reserved(&w);
    find_turns(&w);
    if (!q->has_none_now)
        try_present(&w);
    cache_visit_ends(q->cache, q->most_ends, visit_end, &w);
    if (ret->from_us == 0 && !ret->is_cut && visit_turns(&w, INT64_MAX - 1)
        && visit_reserved(&w, INT64_MAX - 1))
        advance_to(&w, INT64_MAX);
    ret->is_cut |= ret->from_us == 0 && ret->ends >= q->most_ends;
    for (uint32_t i = 0; i < n_slots; i++)
        amounts_fini(&w.walked[i].freed);
    free(w.walked);
    free(w.rooms);
    free(w.reserved);
    node_bits_fini(&w.withheld);
    if (ret->from_us == 0) {
        free(ret->nodes);
        free(ret->are_free);
        ret->nodes = NULL;
        ret->are_free = NULL;
    }
}
