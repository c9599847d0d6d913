/* SPDX-License-Identifier: Apache-2.0 */
/* Room at a later time is found on the real nodes inside a journal, by the profile's own
 * filters: pods that will have ended are removed, reserved pods are added, and the filters are
 * asked. Adding up amounts would be cheaper, but cores, NUMA nodes and devices have no sum,
 * and a plan that the later cycle does not confirm would move at each attempt (decision 179).
 *
 * A place has to be free over a span and not at a moment. It is enough to ask at its begin and
 * at the begin of each reservation within it, because between two begins room is only
 * released.
 *
 * Ends and begins are real times, as those of the agents are (decision 180). If the clock is
 * set, plans are wrong until the next attempt; nothing is started or ended by a time of this
 * file.
 */
#include "controller/scheduler/framework/timeline.h"

#include <string.h>

#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_times.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

struct timeline {
    struct clock *clock;
    struct reservation **items; /* in the queue's order */
    unsigned count, capacity;
    unsigned most;
    unsigned n_binding;
};

struct timeline *
timeline_new(struct clock *clock)
{
    struct timeline *t = xnew(struct timeline);

    t->clock = clock;
    return t;
}

void
timeline_free(struct timeline *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->count; i++)
        reservation_free(t->items[i]);
    free(t->items);
    free(t);
}

struct reservation *
reservation_new(const char *key, const struct queued_pod *queued, struct pod_view *const *members,
                unsigned count)
{
    struct reservation *r = xnew(struct reservation);

    r->key = xstrdup(key);
    r->profile = queued->profile;
    r->order = *queued;
    r->order.pod = pod_view_ref(queued->pod);
    r->order.newer = NULL;
    r->members = xnew_array(struct pod_view *, count);
    r->count = count;
    for (unsigned i = 0; i < count; i++)
        r->members[i] = pod_view_ref(members[i]);
    r->from_us = r->until_us = INT64_MAX;
    return r;
}

void
reservation_free(struct reservation *r)
{
    if (r == NULL)
        return;
    timeline_unplace(r);
    for (unsigned i = 0; i < r->count; i++)
        pod_view_unref(r->members[i]);
    pod_view_unref(r->order.pod);
    free(r->members);
    free(r->may_come);
    free(r->domain_of);
    free(r->key);
    free(r);
}

static void
take_place(struct reserved_place *place)
{
    const struct reservation *r = place->reservation;

    ledger_reserve(&place->node->ledger,
                   &(struct ledger_entry){
                       .owner = place,
                       .state = LEDGER_RESERVED,
                       .from_us = r->from_us,
                       .until_us = r->until_us,
                       .requests = &place->pod->requests,
                       .nonzero_cpu_milli = place->pod->nonzero_cpu_milli,
                       .nonzero_memory_bytes = place->pod->nonzero_memory_bytes,
                   });
}

void
timeline_place(struct reservation *r, struct node_view *const *nodes, const bool *are_free,
               int64_t from_us)
{
    int64_t limit_us = timeline_limit_us(r->members[0]);

    timeline_unplace(r);
    r->from_us = from_us;
    r->until_us = limit_us < INT64_MAX - from_us ? from_us + limit_us : INT64_MAX;
    r->places = xnew_array(struct reserved_place, r->count);
    for (unsigned i = 0; i < r->count; i++) {
        r->places[i] = (struct reserved_place){
            .reservation = r,
            .pod = r->members[i],
            .node = nodes[i],
            .is_free = are_free[i],
        };
        take_place(&r->places[i]);
    }
}

void
timeline_unplace(struct reservation *r)
{
    for (unsigned i = 0; r->places != NULL && i < r->count; i++)
        ledger_unreserve(&r->places[i].node->ledger, &r->places[i]);
    free(r->places);
    r->places = NULL;
}

void
timeline_move_place(struct reserved_place *place, struct node_view *node)
{
    ledger_unreserve(&place->node->ledger, place);
    place->node = node;
    place->is_free = false;
    take_place(place);
}

void
timeline_set_most(struct timeline *t, unsigned most)
{
    if (most > t->most)
        t->most = most;
}

static void
take_out(struct timeline *t, const struct reservation *r)
{
    unsigned at = 0;

    while (t->items[at] != r)
        at++;
    t->count--;
    memmove(t->items + at, t->items + at + 1, (t->count - at) * sizeof(struct reservation *));
}

void
timeline_add(struct timeline *t, struct reservation *r)
{
    unsigned at = timeline_rank(t, &r->order);

    xgrow(t->items, t->count, t->capacity);
    memmove(t->items + at + 1, t->items + at, (t->count - at) * sizeof(struct reservation *));
    t->items[at] = r;
    t->count++;
}

void
timeline_remove(struct timeline *t, struct reservation *r)
{
    take_out(t, r);
    if (t->n_binding > t->count)
        t->n_binding = t->count;
    reservation_free(r);
}

void
timeline_reorder(struct timeline *t, struct reservation *r, const struct queued_pod *queued)
{
    struct pod_view *pod = r->order.pod;

    take_out(t, r);
    r->order = *queued;
    r->order.pod = pod_view_ref(queued->pod);
    r->order.newer = NULL;
    pod_view_unref(pod);
    timeline_add(t, r);
}

void
timeline_bind(struct timeline *t, unsigned count)
{
    t->n_binding = count < t->count ? count : t->count;
}

unsigned
timeline_most(const struct timeline *t)
{
    return t->most;
}

unsigned
timeline_count(const struct timeline *t)
{
    return t->count;
}

unsigned
timeline_binding(const struct timeline *t)
{
    return t->n_binding;
}

struct reservation *
timeline_at(const struct timeline *t, unsigned at)
{
    return t->items[at];
}

struct reservation *
timeline_find(const struct timeline *t, const char *key)
{
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->items[i]->key, key) == 0)
            return t->items[i];
    return NULL;
}

unsigned
timeline_rank(const struct timeline *t, const struct queued_pod *pod)
{
    unsigned at = 0;

    while (at < t->count && profile_less(pod->profile, &t->items[at]->order, pod))
        at++;
    return at;
}

int64_t
timeline_limit_us(const struct pod_view *pod)
{
    return pod_limit_us(pod->pod);
}

int64_t
timeline_end_us(const struct pod_view *pod, int64_t now_us)
{
    int64_t end_us = pod_view_end_us(pod, now_us), late_us, step_us;

    if (end_us == 0)
        return INT64_MAX;
    if (end_us > now_us)
        return end_us;
    late_us = now_us - end_us;
    step_us = late_us < TIMELINE_GRACE_US ? TIMELINE_MOMENT_US : TIMELINE_GRACE_US;
    return end_us + (late_us / step_us + 1) * step_us;
}

int64_t
timeline_assumed_end_us(const struct pod_view *pod, int64_t now_us)
{
    int64_t end_us = timeline_end_us(pod, now_us);
    int64_t began_us = pod_view_start_us(pod), ran_us;

    if (end_us != INT64_MAX)
        return end_us;
    ran_us = began_us < now_us ? now_us - began_us : 0;
    return now_us + (2 * ran_us > TIMELINE_ASSUMED_US ? ran_us : TIMELINE_ASSUMED_US - ran_us);
}

void
timeline_init_cycle(struct cycle *c, const struct profile *profile, struct pod_view *pod,
                    const struct snapshot *snapshot)
{
    cycle_init(c, pod, snapshot);
    c->skipped_filters = ~profile->rooms;
}

/* All functions below work within a journal. */

/* Removes the retained allocations, to get an empty node. */
static void
remove_retained(struct ledger *l)
{
    for (uint32_t i = l->count; i-- > 0;)
        if (l->entries[i].state == LEDGER_RETAINED)
            ledger_remove(l, l->entries[i].owner, i);
}

static int64_t
end_of(const struct what_if *w, const struct pod_view *pod)
{
    return w->assumes_ends ? timeline_assumed_end_us(pod, w->now_us)
                           : timeline_end_us(pod, w->now_us);
}

static void
remove_ended(const struct what_if *w, struct cycle *cycle, struct node_view *node, int64_t at_us)
{
    uint32_t count = node->pods.count;
    CLEANUP_FREE struct pod_view **pods = xnew_array(struct pod_view *, count + 1);

    if (count > 0)
        memcpy(pods, node->pods.items, count * sizeof(struct pod_view *));
    for (uint32_t i = 0; i < count; i++) {
        if (at_us != INT64_MAX && end_of(w, pods[i]) > at_us)
            continue;
        node_view_remove_pod(node, pods[i]);
        profile_remove_pod(w->profile, cycle, pods[i], node);
    }
    if (at_us == INT64_MAX)
        remove_retained(&node->ledger);
}

/* Whether the entry is of a reservation that binds the pods decided now. */
static bool
is_binding(const struct what_if *w, const struct ledger_entry *e)
{
    const struct reserved_place *place = e->owner;

    if (e->state != LEDGER_RESERVED)
        return false;
    for (unsigned i = 0; i < w->n_binding; i++)
        if (w->timeline->items[i] == place->reservation)
            return true;
    return false;
}

/* The next future entry that binds and covers that time. A linear search,
 * because a node has few future entries.
 */
static const struct ledger_entry *
next_entry(const struct what_if *w, const struct node_view *node, const struct ledger_entry *after,
           int64_t at_us)
{
    const struct ledger *l = &node->ledger;
    uint32_t i = after != NULL ? (uint32_t)(after - l->future) + 1 : 0;

    for (; i < l->n_future; i++)
        if (l->future[i].from_us <= at_us && l->future[i].until_us > at_us
            && is_binding(w, &l->future[i]))
            return &l->future[i];
    return NULL;
}

static bool
has_room(const struct what_if *w, const struct cycle *cycle, const struct node_view *node)
{
    struct answer answer = ANSWER_OK;

    profile_filter(w->profile, w->filters, cycle, &node, 1, &answer);
    return answer.verdict == VERDICT_OK;
}

static void
add_pod(const struct what_if *w, struct cycle *cycle, struct node_view *node, struct pod_view *pod)
{
    node_view_add_pod(node, pod, LEDGER_RESERVED);
    profile_add_pod(w->profile, cycle, pod, node);
}

static bool
is_of_group(const struct pod_view *pod, const struct pod_view *other)
{
    const char *a = pod_group_named_by(pod->object), *b = pod_group_named_by(other->object);

    return a != NULL && b != NULL && strcmp(a, b) == 0 && pod->owner == other->owner
           && strcmp(pod->namespace, other->namespace) == 0;
}

/* A node that is closed because a pod of the group has it is open when that one has ended.
 * One that has not been told to start will not end before the others have nodes.
 */
static bool
is_closed_at(const struct what_if *w, const struct node_view *node, int64_t at_us)
{
    if (!node->is_closed)
        return false;
    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *pod = node->pods.items[i];

        if (is_of_group(pod, w->cycle->pod)
            && ((at_us != INT64_MAX && end_of(w, pod) > at_us) || pod_awaits_start(pod->pod)))
            return true;
    }
    return false;
}

static unsigned
room_at(const struct what_if *w, struct node_view *node, int64_t at_us, unsigned most)
{
    size_t mark = journal_begin(node->ledger.journal);
    const struct ledger_entry *e = NULL;
    const bool was_closed = node->is_closed;
    struct cycle cycle;
    unsigned count = 0;

    node->is_closed = is_closed_at(w, node, at_us);
    cycle_copy(&cycle, w->cycle);
    remove_ended(w, &cycle, node, at_us);
    while (at_us != INT64_MAX && w->n_binding > 0 && (e = next_entry(w, node, e, at_us)) != NULL)
        add_pod(w, &cycle, node, ((const struct reserved_place *)e->owner)->pod);
    while (count < most && has_room(w, &cycle, node)) {
        count++;
        if (count < most)
            add_pod(w, &cycle, node, w->cycle->pod);
    }
    journal_roll_back(node->ledger.journal, mark);
    cycle_fini(&cycle);
    node->is_closed = was_closed;
    return count;
}

unsigned
timeline_room(const struct what_if *w, struct node_view *node, int64_t from_us, int64_t until_us,
              unsigned most)
{
    unsigned count;

    if (from_us != INT64_MAX && node->ledger.n_future > 0
        && !node_reservations_admit(node, w->cycle->pod, from_us, until_us))
        return 0;
    count = room_at(w, node, from_us, most);
    if (from_us == INT64_MAX || w->n_binding == 0)
        return count;
    for (uint32_t i = 0; i < node->ledger.n_future && count > 0; i++) {
        const struct ledger_entry *e = &node->ledger.future[i];

        if (e->from_us > from_us && e->from_us < until_us && is_binding(w, e))
            count = room_at(w, node, e->from_us, count);
    }
    return count;
}

/* Whether the reserved pods still have room at that time. The cycle's pod is
 * added first, because it will already have its cores; the reserved pods follow
 * one by one.
 */
static bool
leaves_room(const struct what_if *w, const struct cycle *c, struct node_view *node, int64_t at_us)
{
    size_t mark = journal_begin(node->ledger.journal);
    const struct ledger_entry *e = NULL;
    bool leaves = true;
    struct cycle cycle;

    timeline_init_cycle(&cycle, w->profile, c->pod, c->snapshot);
    add_pod(w, &cycle, node, c->pod);
    remove_ended(w, &cycle, node, at_us);
    cycle_fini(&cycle);
    while (leaves && (e = next_entry(w, node, e, at_us)) != NULL) {
        const struct reserved_place *place = e->owner;

        timeline_init_cycle(&cycle, w->profile, place->pod, c->snapshot);
        leaves = has_room(w, &cycle, node);
        if (leaves)
            add_pod(w, &cycle, node, place->pod);
        cycle_fini(&cycle);
    }
    journal_roll_back(node->ledger.journal, mark);
    return leaves;
}

bool
timeline_admits(const struct timeline *t, const struct profile *profile, const struct cycle *c,
                struct node_view *node)
{
    struct what_if w = {
        .timeline = t,
        .profile = profile,
        .filters = profile->rooms,
        .cycle = c,
        .n_binding = t->n_binding,
        .now_us = clock_real_us(t->clock),
    };
    int64_t end_us = timeline_end_us(c->pod, w.now_us);

    for (uint32_t i = 0; i < node->ledger.n_future; i++) {
        const struct ledger_entry *e = &node->ledger.future[i];
        int64_t at_us = e->from_us > w.now_us ? e->from_us : w.now_us;

        if (at_us < end_us && is_binding(&w, e) && !leaves_room(&w, c, node, at_us))
            return false;
    }
    return true;
}
