/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill: reservations for the first pods that have no room.
 *
 * When a cycle finds no room for a pod or a pod group that is one of the first
 * in the order, it gets a reservation. The reservation is planned again when
 * something changed that may move it; when its room is free, its owner is tried
 * before all other pods. When a reservation ends, the first unschedulable pod
 * in the order that has none is tried again, and gets it.
 */
#include <string.h>

#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

/* When the real clock differs from the monotonic clock by this much, it was
 * set.
 */
#define JUMP_US INT64_C(2000000)

#define KEY_SIZE (OBJECT_KEY_SIZE + 1)

/* A group may have the same name as a pod; '@' marks the key of a group. */
static const char *
key_of(const struct queued_pod *queued, char out[KEY_SIZE])
{
    bool is_group = queued->queued_group != NULL;
    const char *key = is_group ? queued->queued_group->key : queued->key;
    size_t length = strnlen(key, OBJECT_KEY_SIZE - 1);

    out[0] = '@';
    memcpy(out + is_group, key, length);
    out[is_group + length] = '\0';
    return out;
}

static int64_t
now_us(const struct scheduler *s)
{
    return clock_real_us(s->settings.clock);
}

static struct timeline *
timeline_of(const struct scheduler *s)
{
    return s->handle.timeline;
}

/* The pod or leader that waits for the reservation; NULL: none does any more.
 */
static const struct queued_pod *
find_owner(const struct scheduler *s, const struct reservation *r)
{
    const struct pod_view *pod = r->order.pod;
    const struct queued_pod *queued = queue_find(s->queue, pod->namespace, pod->name);
    char key[KEY_SIZE];

    if (queued == NULL || queued->state == QUEUE_GATED || queued->is_deleted
        || !pod_view_is_same(queued->pod, pod) || strcmp(key_of(queued, key), r->key) != 0
        || (queued->queued_group != NULL && queued_group_is_held(queued->queued_group)))
        return NULL;
    return queued;
}

static void
note_moved(struct scheduler *s, const struct reservation *r)
{
    for (unsigned i = 0; r->places != NULL && i < r->count; i++)
        scheduler_note_freed(s, r->places[i].node);
}

/* The reservations behind this one in the order were planned around it. */
static void
mark_behind(struct scheduler *s, const struct reservation *r)
{
    struct timeline *t = timeline_of(s);
    bool is_behind = false;

    for (unsigned i = 0; i < timeline_count(t); i++) {
        struct reservation *other = timeline_at(t, i);

        other->is_stale |= is_behind;
        is_behind |= other == r;
    }
}

static unsigned
place_in_order(const struct timeline *t, const struct reservation *r)
{
    unsigned at = 0;

    while (timeline_at(t, at) != r)
        at++;
    return at;
}

/* Puts the reservation where its pod is in the order now. Those that it passes
 * on the way back were planned around it. True: it has moved.
 */
static bool
reorder(struct timeline *t, struct reservation *r, const struct queued_pod *queued)
{
    const unsigned before = place_in_order(t, r);
    unsigned after;

    timeline_reorder(t, r, queued);
    after = place_in_order(t, r);
    for (unsigned i = before; i < after; i++)
        timeline_at(t, i)->is_stale = true;
    return after != before;
}

/* Reports to the owner where its pods have a reservation now, or that they no
 * longer have one. When they start is reported by the forecast.
 */
static void
tell_owner(struct scheduler *s, const struct reservation *r, bool has_places)
{
    for (unsigned i = 0; i < r->count; i++)
        recorder_set_plan(s->recorder, r->members[i], has_places ? r->places[i].node->name : NULL);
}

static void
take_out(struct scheduler *s, struct reservation *r)
{
    note_moved(s, r);
    if (r->places != NULL)
        mark_behind(s, r);
    s->may_lack_reservation = true;
    queue_pass_over(s->queue, r->order.pod->namespace, r->order.pod->name, 0);
    timeline_remove(timeline_of(s), r);
}

static void
drop(struct scheduler *s, struct reservation *r)
{
    tell_owner(s, r, false);
    take_out(s, r);
}

static void
activate(struct scheduler *s, const struct reservation *r)
{
    const struct queued_pod *queued = find_owner(s, r);

    if (queued != NULL && queued->state != QUEUE_IN_FLIGHT)
        queue_activate(s->queue, r->order.pod->namespace, r->order.pod->name);
}

/* ---- The plan ---- */

/* False: it is not known when the pods could start, or that would be too late
 * for their deadline.
 */
static bool
plan(struct scheduler *s, struct reservation *r)
{
    struct start_answer a;
    bool is_moved, is_known;

    is_known = scheduler_plan_reservation(s, r, &a, &is_moved);
    r->is_stale = false;
    if (is_known) {
        if (is_moved) {
            note_moved(s, r);
            mark_behind(s, r);
        }
        timeline_place(r, a.nodes, a.are_free, a.from_us);
        tell_owner(s, r, true);
    }
    start_answer_fini(&a);
    return is_known;
}

/* ---- The end of a cycle ---- */

/* False: no node can ever run the pod. */
static bool
reserve(struct scheduler *s, struct queued_pod *queued, struct pod_view *const *members,
        unsigned count, const struct diagnosis *d)
{
    struct timeline *t = timeline_of(s);
    struct reservation *r;
    char key[KEY_SIZE];

    r = timeline_find(t, key_of(queued, key));
    if (r != NULL) {
        (void)reorder(t, r, queued);
        scheduler_find_domains(s, r, pod_groups_topology_key(s->pod_groups, members[0]->object));
        if (!scheduler_find_open_nodes(s, d, r)) {
            drop(s, r);
            return false;
        }
    } else {
        if (!scheduler_are_alike(s, queued->profile, members, count))
            return true;
        r = reservation_new(key, queued, members, count);
        r->is_one_per_node = scheduler_goes_one_per_node(s, members[0]);
        scheduler_find_domains(s, r, pod_groups_topology_key(s->pod_groups, members[0]->object));
        if (!scheduler_find_open_nodes(s, d, r)) {
            reservation_free(r);
            return false;
        }
        timeline_add(t, r);
    }
    if (!plan(s, r) || r->from_us <= now_us(s))
        drop(s, r);
    else if (timeline_count(t) > timeline_most(t))
        drop(s, timeline_at(t, timeline_count(t) - 1));
    return true;
}

/* The pod is not one of the first: all reservations that may exist are before
 * it.
 */
static bool
is_behind_all(const struct scheduler *s, const struct queued_pod *queued)
{
    const struct timeline *t = timeline_of(s);
    char key[KEY_SIZE];

    return timeline_count(t) >= timeline_most(t) && timeline_rank(t, queued) >= timeline_most(t)
           && timeline_find(t, key_of(queued, key)) == NULL;
}

const struct reservation *
scheduler_find_reservation(const struct scheduler *s, const struct queued_pod *queued)
{
    char key[KEY_SIZE];

    return timeline_count(timeline_of(s)) > 0 ? timeline_find(timeline_of(s), key_of(queued, key))
                                              : NULL;
}

bool
scheduler_reservation_moves(struct scheduler *s, const struct queued_pod *queued)
{
    struct timeline *t = timeline_of(s);
    char key[KEY_SIZE];
    return reorder(t, timeline_find(t, key_of(queued, key)), queued);
}

const struct reserved_place *
scheduler_find_place(const struct scheduler *s, const struct queued_pod *queued,
                     const struct pod_view *pod)
{
    const struct reservation *r = scheduler_find_reservation(s, queued);

    for (unsigned i = 0; r != NULL && r->places != NULL && i < r->count; i++)
        if (pod_view_is_same(r->places[i].pod, pod))
            return &r->places[i];
    return NULL;
}

bool
scheduler_may_reserve(const struct scheduler *s, const struct queued_pod *queued)
{
    return queued->profile->timed != 0 && !queued->is_deleted
           && (nominator_node(s->handle.nominator, queued->pod) != NULL
               || !is_behind_all(s, queued));
}

/* A pod with all possible reservations before it has none, or has the last one.
 */
bool
scheduler_lacks_reservation(const struct scheduler *s, const struct queued_pod *queued)
{
    const struct timeline *t = timeline_of(s);
    char key[KEY_SIZE];

    if (timeline_count(t) >= timeline_most(t) && timeline_rank(t, queued) >= timeline_most(t)
        && nominator_count(s->handle.nominator) == 0)
        return false;
    return scheduler_may_reserve(s, queued) && timeline_find(t, key_of(queued, key)) == NULL;
}

void
scheduler_reserve(struct scheduler *s, struct queued_pod *queued, struct pod_view *const *members,
                  unsigned count, const struct diagnosis *d)
{
    bool is_nominated = nominator_node(s->handle.nominator, queued->pod) != NULL;
    bool may_ever = true;

    queued->passed_over = 0;
    if (!scheduler_may_reserve(s, queued))
        return;
    if (!is_nominated)
        may_ever = reserve(s, queued, members, count, d);
    queued->passed_over = may_ever && scheduler_lacks_reservation(s, queued)
                              ? queue_next_event(s->queue)
                              : PASSED_OVER;
}

/* The pod takes a node that the reservation could use, and ends before the
 * reservation begins. So a place of the reservation that is free now moves to
 * that node, and other pods may use the free place.
 */
static void
exchange(struct scheduler *s, struct reservation *r, unsigned at, const struct pod_view *pod,
         struct node_view *node)
{
    struct what_if w = {.timeline = timeline_of(s),
                        .profile = r->profile,
                        .filters = r->profile->rooms,
                        .n_binding = at + 1,
                        .now_us = now_us(s)};
    struct reserved_place *free_place = NULL;
    struct cycle cycle;

    if (r->places == NULL || node->slot >= r->n_slots || !r->may_come[node->slot]
        || timeline_end_us(pod, w.now_us) > r->from_us)
        return;
    for (unsigned i = 0; i < r->count; i++) {
        if (r->places[i].node == node)
            return;
        if (r->places[i].is_free)
            free_place = &r->places[i];
    }
    if (free_place == NULL)
        return;
    timeline_init_cycle(&cycle, r->profile, free_place->pod, &s->snapshot);
    w.cycle = &cycle;
    if (timeline_room(&w, node, r->from_us, r->until_us, 1) > 0) {
        scheduler_note_freed(s, free_place->node);
        mark_behind(s, r);
        timeline_move_place(free_place, node);
        tell_owner(s, r, true);
    }
    cycle_fini(&cycle);
}

/* A pod that took a node makes the reservations of places there stale that are
 * behind it in the order.
 */
static void
note_taken(struct scheduler *s, struct pod_view *pod, const char *node_name)
{
    struct timeline *t = timeline_of(s);
    struct node_view *node = cache_find_node(s->cache, node_name);

    for (unsigned i = 0; node != NULL && i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        if (i < timeline_binding(t))
            exchange(s, r, i, pod, node);
        else if (node->ledger.n_future > 0)
            r->is_stale = true;
    }
}

void
scheduler_note_placed(struct scheduler *s, struct assignment *const *members, unsigned count)
{
    struct timeline *t = timeline_of(s);
    struct reservation *r;
    char key[KEY_SIZE];

    if (timeline_count(t) == 0)
        return;
    r = timeline_find(t, key_of(members[0]->queued, key));
    if (r != NULL)
        take_out(s, r); /* the placement is reported anyway */
    for (unsigned i = 0; i < count; i++)
        note_taken(s, members[i]->cycle.pod, members[i]->node_name);
}

void
scheduler_bind_reservations(struct scheduler *s, const struct queued_pod *queued)
{
    struct timeline *t = timeline_of(s);

    timeline_bind(t, timeline_count(t) > 0 && queued != NULL ? timeline_rank(t, queued)
                                                             : timeline_count(t));
}

/* ---- Changes of the cluster ---- */

void
scheduler_room_changed(struct scheduler *s, const struct node_view *node)
{
    struct timeline *t = timeline_of(s);

    s->has_room_come = true;
    if (node != NULL)
        yields_wake(s->yields, node);
    for (unsigned i = 0; i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        if (node == NULL || (node->slot < r->n_slots && r->may_come[node->slot]))
            r->is_stale = true;
    }
}

/* Only a cycle finds out which reservation may use the changed node. */
void
scheduler_nodes_changed(struct scheduler *s)
{
    struct timeline *t = timeline_of(s);

    for (unsigned i = 0; i < timeline_count(t); i++)
        activate(s, timeline_at(t, i));
}

void
scheduler_node_leaves(struct scheduler *s, const struct node_view *node)
{
    struct timeline *t = timeline_of(s);

    for (unsigned i = 0; node != NULL && i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);
        bool has_place = false;

        if (node->slot < r->n_slots)
            r->may_come[node->slot] = false;
        for (unsigned p = 0; r->places != NULL && p < r->count; p++)
            has_place |= r->places[p].node == node;
        if (!has_place)
            continue;
        note_moved(s, r);
        mark_behind(s, r);
        timeline_unplace(r);
        r->is_stale = true;
    }
}

void
scheduler_wait_changed(struct scheduler *s, const struct pod_view *pod)
{
    struct timeline *t = timeline_of(s);

    for (unsigned i = 0; i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        for (unsigned m = 0; m < r->count; m++)
            if (pod_view_is_same(r->members[m], pod)
                && (r->members[m]->priority != pod->priority
                    || timeline_limit_us(r->members[m]) != timeline_limit_us(pod))) {
                drop(s, r);
                return;
            }
    }
}

/* ---- Between two cycles ---- */

static bool
is_trying(const struct scheduler *s)
{
    struct queue_counts counts = queue_count(s->queue);

    return counts.active > 0 || counts.backoff > 0 || queue_has_room_to_hand_out(s->queue);
}

/* The first pod that waits for room may get a reservation, so it is tried. If
 * it can get none, it is tried again when room has become free and the pods
 * that were activated for it have been tried, one pod each time.
 */
static void
fill(struct scheduler *s)
{
    struct timeline *t = timeline_of(s);
    const struct queued_pod *first;

    if ((!s->may_lack_reservation || timeline_count(t) >= timeline_most(t))
        && (!s->has_room_come || is_trying(s)))
        return;
    s->has_room_come = false;
    first = queue_first_unreserved(s->queue);
    if (first == NULL)
        s->may_lack_reservation = false;
    if (first == NULL || is_behind_all(s, first))
        return;
    queue_activate(s->queue, first->pod->namespace, first->pod->name);
    queue_pass_over(s->queue, first->pod->namespace, first->pod->name, queue_next_event(s->queue));
}

static void
settle_one(struct scheduler *s, struct reservation *r)
{
    if (find_owner(s, r) == NULL) {
        drop(s, r);
        return;
    }
    if (!r->is_stale)
        return;
    if (!plan(s, r)) {
        activate(s, r); /* its cycle reports why */
        drop(s, r);
    } else if (r->from_us <= now_us(s)) {
        activate(s, r);
    }
}

void
scheduler_settle_reservations(struct scheduler *s)
{
    struct timeline *t = timeline_of(s);

    if (timeline_most(t) == 0)
        return;
    if (timeline_count(t) > 0)
        cache_update_snapshot(s->cache, &s->snapshot);
    for (unsigned i = 0; i < timeline_count(t);) {
        struct reservation *r = timeline_at(t, i);

        settle_one(s, r);
        i += i < timeline_count(t) && timeline_at(t, i) == r;
    }
    fill(s);
    scheduler_tell_freed(s);
}

/* A reservation whose begin has come is planned again, and all are when the
 * clock was set: whether a pod starts depends on free room alone.
 */
void
scheduler_tick_reservations(struct scheduler *s)
{
    struct timeline *t = timeline_of(s);
    int64_t offset_us = now_us(s) - clock_monotonic_us(s->settings.clock);
    int64_t moved_us = offset_us - s->clock_offset_us;

    if (moved_us > JUMP_US || moved_us < -JUMP_US) {
        s->clock_offset_us = offset_us;
        scheduler_room_changed(s, NULL);
    }
    for (unsigned i = 0; i < timeline_count(t); i++)
        if (timeline_at(t, i)->from_us <= now_us(s))
            timeline_at(t, i)->is_stale = true;
    scheduler_settle_reservations(s);
}
