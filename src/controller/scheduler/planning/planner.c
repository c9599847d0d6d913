/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill: reservations for the first pods that have no room.
 *
 * When a cycle finds no room for a pod or a pod group that is one of the first
 * in the order, it gets a reservation. The reservation is planned again when
 * something changed that may move it; when its room is free, its owner is tried
 * before all other pods. When a reservation ends, the first unschedulable pod
 * in the order that has none is tried again, and gets it.
 */
#include "controller/scheduler/planning/planner.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/reservation_plan.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
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

/* Names of nodes on which reservations have left room to other pods. */
#define FREED_PLACES_MOST 16u
struct freed_places {
    char *nodes[FREED_PLACES_MOST];
    unsigned count;
    bool is_overfull; /* more nodes than fit here */
};

struct planner {
    struct planner_parts parts;
    bool may_lack_reservation; /* an unschedulable pod may get one */
    bool has_room_come;        /* since fill() looked for a pod */
    int64_t clock_offset_us;   /* real clock less monotonic clock */
    struct freed_places freed; /* not reported yet */
};

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
now_us(const struct planner *p)
{
    return clock_real_us(p->parts.clock);
}

static struct timeline *
timeline_of(const struct planner *p)
{
    return p->parts.handle->timeline;
}

/* ---- Nodes that other pods may use again ---- */

static void
note_freed(struct planner *p, const struct node_view *node)
{
    struct freed_places *f = &p->freed;
    unsigned at = 0;

    if (node->node == NULL)
        return;
    while (at < f->count && strcmp(f->nodes[at], node->name) != 0)
        at++;
    if (at < f->count)
        return;
    if (f->count < FREED_PLACES_MOST)
        f->nodes[f->count++] = xstrdup(node->name);
    else
        f->is_overfull = true;
}

static void
forget_freed(struct planner *p)
{
    for (unsigned i = 0; i < p->freed.count; i++)
        free(p->freed.nodes[i]);
    p->freed = (struct freed_places){0};
}

static void
report_freed(struct planner *p)
{
    struct freed_places *f = &p->freed;

    if (f->count == 0)
        return;
    queue_event_of_rooms(p->parts.queue, &event_reservation_moved, (const char *const *)f->nodes,
                         f->is_overfull ? 0 : f->count);
    forget_freed(p);
}

void
planner_free(struct planner *p)
{
    if (p == NULL)
        return;
    forget_freed(p);
    free(p);
}

struct planner *
planner_new(const struct planner_parts *parts)
{
    struct planner *p = xnew(struct planner);

    p->parts = *parts;
    p->clock_offset_us = clock_real_us(parts->clock) - clock_monotonic_us(parts->clock);
    return p;
}

const struct planner_parts *
planner_parts(const struct planner *p)
{
    return &p->parts;
}

/* ---- Reservations ---- */

/* The pod or leader that waits for the reservation; NULL: none does any more.
 */
static const struct queued_pod *
find_owner(const struct planner *p, const struct reservation *r)
{
    const struct pod_view *pod = r->order.pod;
    const struct queued_pod *queued = queue_find(p->parts.queue, pod->namespace, pod->name);
    char key[KEY_SIZE];

    if (queued == NULL || queued->state == QUEUE_GATED || queued->is_deleted
        || !pod_view_is_same(queued->pod, pod) || strcmp(key_of(queued, key), r->key) != 0
        || (queued->queued_group != NULL && queued_group_is_held(queued->queued_group)))
        return NULL;
    return queued;
}

static void
note_moved(struct planner *p, const struct reservation *r)
{
    for (unsigned i = 0; r->places != NULL && i < r->count; i++)
        note_freed(p, r->places[i].node);
}

/* The reservations behind this one in the order were planned around it. */
static void
mark_behind(struct planner *p, const struct reservation *r)
{
    struct timeline *t = timeline_of(p);
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
report_to_owner(struct planner *p, const struct reservation *r, bool has_places)
{
    for (unsigned i = 0; i < r->count; i++)
        recorder_set_plan(p->parts.recorder, r->members[i],
                          has_places ? r->places[i].node->name : NULL);
}

static void
take_out(struct planner *p, struct reservation *r)
{
    note_moved(p, r);
    if (r->places != NULL)
        mark_behind(p, r);
    p->may_lack_reservation = true;
    queue_pass_over(p->parts.queue, r->order.pod->namespace, r->order.pod->name, 0);
    timeline_remove(timeline_of(p), r);
}

static void
drop(struct planner *p, struct reservation *r)
{
    report_to_owner(p, r, false);
    take_out(p, r);
}

static void
activate(struct planner *p, const struct reservation *r)
{
    const struct queued_pod *queued = find_owner(p, r);

    if (queued != NULL && queued->state != QUEUE_IN_FLIGHT)
        queue_activate(p->parts.queue, r->order.pod->namespace, r->order.pod->name);
}

/* ---- The plan ---- */

/* False: it is not known when the pods could start, or that would be too late
 * for their deadline.
 */
static bool
plan(struct planner *p, struct reservation *r)
{
    struct start_answer a;
    bool is_moved, is_known;

    is_known = reservation_plan_find(&p->parts, r, &a, &is_moved);
    r->is_stale = false;
    if (is_known) {
        if (is_moved) {
            note_moved(p, r);
            mark_behind(p, r);
        }
        timeline_place(r, a.nodes, a.are_free, a.from_us);
        report_to_owner(p, r, true);
    }
    start_answer_fini(&a);
    return is_known;
}

/* ---- The end of a cycle ---- */

/* False: no node can ever run the pod. */
static bool
reserve(struct planner *p, struct queued_pod *queued, struct pod_view *const *members,
        unsigned count, const struct diagnosis *d)
{
    struct timeline *t = timeline_of(p);
    struct reservation *r;
    char key[KEY_SIZE];

    r = timeline_find(t, key_of(queued, key));
    if (r != NULL) {
        (void)reorder(t, r, queued);
        reservation_plan_set_domains(
            &p->parts, r, pod_groups_topology_key(p->parts.pod_groups, members[0]->object));
        if (!reservation_plan_set_nodes(&p->parts, d, r)) {
            drop(p, r);
            return false;
        }
    } else {
        if (!reservation_plan_are_alike(&p->parts, queued->profile, members, count))
            return true;
        r = reservation_new(key, queued, members, count);
        r->is_one_per_node = pod_groups_goes_one_per_node(p->parts.pod_groups, members[0]->object);
        reservation_plan_set_domains(
            &p->parts, r, pod_groups_topology_key(p->parts.pod_groups, members[0]->object));
        if (!reservation_plan_set_nodes(&p->parts, d, r)) {
            reservation_free(r);
            return false;
        }
        timeline_add(t, r);
    }
    if (!plan(p, r) || r->from_us <= now_us(p))
        drop(p, r);
    else if (timeline_count(t) > timeline_most(t))
        drop(p, timeline_at(t, timeline_count(t) - 1));
    return true;
}

/* The pod is not one of the first: all reservations that may exist are before
 * it.
 */
static bool
is_behind_all(const struct planner *p, const struct queued_pod *queued)
{
    const struct timeline *t = timeline_of(p);
    char key[KEY_SIZE];

    return timeline_count(t) >= timeline_most(t) && timeline_rank(t, queued) >= timeline_most(t)
           && timeline_find(t, key_of(queued, key)) == NULL;
}

const struct reservation *
planner_find(const struct planner *p, const struct queued_pod *queued)
{
    char key[KEY_SIZE];

    return timeline_count(timeline_of(p)) > 0 ? timeline_find(timeline_of(p), key_of(queued, key))
                                              : NULL;
}

bool
planner_moves(struct planner *p, const struct queued_pod *queued)
{
    struct timeline *t = timeline_of(p);
    char key[KEY_SIZE];
    return reorder(t, timeline_find(t, key_of(queued, key)), queued);
}

const struct reserved_place *
planner_find_place(const struct planner *p, const struct queued_pod *queued,
                   const struct pod_view *pod)
{
    const struct reservation *r = planner_find(p, queued);

    for (unsigned i = 0; r != NULL && r->places != NULL && i < r->count; i++)
        if (pod_view_is_same(r->places[i].pod, pod))
            return &r->places[i];
    return NULL;
}

bool
planner_may_reserve(const struct planner *p, const struct queued_pod *queued)
{
    return queued->profile->timed != 0 && !queued->is_deleted
           && (nominator_node(p->parts.handle->nominator, queued->pod) != NULL
               || !is_behind_all(p, queued));
}

/* A pod with all possible reservations before it has none, or has the last one.
 */
static bool
lacks_reservation(const struct planner *p, const struct queued_pod *queued)
{
    const struct timeline *t = timeline_of(p);
    char key[KEY_SIZE];

    if (timeline_count(t) >= timeline_most(t) && timeline_rank(t, queued) >= timeline_most(t)
        && nominator_count(p->parts.handle->nominator) == 0)
        return false;
    return planner_may_reserve(p, queued) && timeline_find(t, key_of(queued, key)) == NULL;
}

void
planner_reserve(struct planner *p, struct queued_pod *queued, struct pod_view *const *members,
                unsigned count, const struct diagnosis *d)
{
    bool is_nominated = nominator_node(p->parts.handle->nominator, queued->pod) != NULL;
    bool may_ever = true;

    queued->passed_over = 0;
    if (!planner_may_reserve(p, queued))
        return;
    if (!is_nominated)
        may_ever = reserve(p, queued, members, count, d);
    queued->passed_over =
        may_ever && lacks_reservation(p, queued) ? queue_next_event(p->parts.queue) : PASSED_OVER;
}

/* The pod takes a node that the reservation could use, and ends before the
 * reservation begins. So a place of the reservation that is free now moves to
 * that node, and other pods may use the free place.
 */
static void
exchange(struct planner *p, struct reservation *r, unsigned at, const struct pod_view *pod,
         struct node_view *node)
{
    struct what_if w = {.timeline = timeline_of(p),
                        .profile = r->profile,
                        .filters = r->profile->rooms,
                        .n_binding = at + 1,
                        .now_us = now_us(p)};
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
    timeline_init_cycle(&cycle, r->profile, free_place->pod, p->parts.snapshot);
    w.cycle = &cycle;
    if (timeline_room(&w, node, r->from_us, r->until_us, 1) > 0) {
        note_freed(p, free_place->node);
        mark_behind(p, r);
        timeline_move_place(free_place, node);
        report_to_owner(p, r, true);
    }
    cycle_fini(&cycle);
}

/* A pod that took a node makes the reservations of places there stale that are
 * behind it in the order.
 */
static void
note_taken(struct planner *p, struct pod_view *pod, const char *node_name)
{
    struct timeline *t = timeline_of(p);
    struct node_view *node = cache_find_node(p->parts.cache, node_name);

    for (unsigned i = 0; node != NULL && i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        if (i < timeline_binding(t))
            exchange(p, r, i, pod, node);
        else if (node->ledger.n_future > 0)
            r->is_stale = true;
    }
}

void
planner_note_placed(struct planner *p, struct assignment *const *members, unsigned count)
{
    struct timeline *t = timeline_of(p);
    struct reservation *r;
    char key[KEY_SIZE];

    if (timeline_count(t) == 0)
        return;
    r = timeline_find(t, key_of(members[0]->queued, key));
    if (r != NULL)
        take_out(p, r); /* the placement is reported anyway */
    for (unsigned i = 0; i < count; i++)
        note_taken(p, members[i]->cycle.pod, members[i]->node_name);
}

void
planner_bind(struct planner *p, const struct queued_pod *queued)
{
    struct timeline *t = timeline_of(p);

    timeline_bind(t, timeline_count(t) > 0 && queued != NULL ? timeline_rank(t, queued)
                                                             : timeline_count(t));
}

/* ---- Changes of the cluster ---- */

void
planner_room_changed(struct planner *p, const struct node_view *node)
{
    struct timeline *t = timeline_of(p);

    p->has_room_come = true;
    for (unsigned i = 0; i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        if (node == NULL || (node->slot < r->n_slots && r->may_come[node->slot]))
            r->is_stale = true;
    }
}

/* Only a cycle finds out which reservation may use the changed node. */
void
planner_nodes_changed(struct planner *p)
{
    struct timeline *t = timeline_of(p);

    for (unsigned i = 0; i < timeline_count(t); i++)
        activate(p, timeline_at(t, i));
}

void
planner_node_leaves(struct planner *p, const struct node_view *node)
{
    struct timeline *t = timeline_of(p);

    for (unsigned i = 0; node != NULL && i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);
        bool has_place = false;

        if (node->slot < r->n_slots)
            r->may_come[node->slot] = false;
        for (unsigned at = 0; r->places != NULL && at < r->count; at++)
            has_place |= r->places[at].node == node;
        if (!has_place)
            continue;
        note_moved(p, r);
        mark_behind(p, r);
        timeline_unplace(r);
        r->is_stale = true;
    }
}

void
planner_wait_changed(struct planner *p, const struct pod_view *pod)
{
    struct timeline *t = timeline_of(p);

    for (unsigned i = 0; i < timeline_count(t); i++) {
        struct reservation *r = timeline_at(t, i);

        for (unsigned m = 0; m < r->count; m++)
            if (pod_view_is_same(r->members[m], pod)
                && (r->members[m]->priority != pod->priority
                    || timeline_limit_us(r->members[m]) != timeline_limit_us(pod))) {
                drop(p, r);
                return;
            }
    }
}

/* ---- Between two cycles ---- */

static bool
is_trying(const struct planner *p)
{
    struct queue_counts counts = queue_count(p->parts.queue);

    return counts.active > 0 || counts.backoff > 0 || queue_has_room_to_hand_out(p->parts.queue);
}

/* The first pod that waits for room may get a reservation, so it is tried. If
 * it can get none, it is tried again when room has become free and the pods
 * that were activated for it have been tried, one pod each time.
 */
static void
fill(struct planner *p)
{
    struct timeline *t = timeline_of(p);
    const struct queued_pod *first;

    if ((!p->may_lack_reservation || timeline_count(t) >= timeline_most(t))
        && (!p->has_room_come || is_trying(p)))
        return;
    p->has_room_come = false;
    first = queue_first_unreserved(p->parts.queue);
    if (first == NULL)
        p->may_lack_reservation = false;
    if (first == NULL || is_behind_all(p, first))
        return;
    queue_activate(p->parts.queue, first->pod->namespace, first->pod->name);
    queue_pass_over(p->parts.queue, first->pod->namespace, first->pod->name,
                    queue_next_event(p->parts.queue));
}

static void
settle_one(struct planner *p, struct reservation *r)
{
    if (find_owner(p, r) == NULL) {
        drop(p, r);
        return;
    }
    if (!r->is_stale)
        return;
    if (!plan(p, r)) {
        activate(p, r); /* its cycle reports why */
        drop(p, r);
    } else if (r->from_us <= now_us(p)) {
        activate(p, r);
    }
}

void
planner_settle(struct planner *p)
{
    struct timeline *t = timeline_of(p);

    if (timeline_most(t) == 0)
        return;
    if (timeline_count(t) > 0)
        cache_update_snapshot(p->parts.cache, p->parts.snapshot);
    for (unsigned i = 0; i < timeline_count(t);) {
        struct reservation *r = timeline_at(t, i);

        settle_one(p, r);
        i += i < timeline_count(t) && timeline_at(t, i) == r;
    }
    fill(p);
    report_freed(p);
}

/* A reservation whose begin has come is planned again, and all are when the
 * clock was set: whether a pod starts depends on free room alone.
 */
void
planner_tick(struct planner *p)
{
    struct timeline *t = timeline_of(p);
    int64_t offset_us = now_us(p) - clock_monotonic_us(p->parts.clock);
    int64_t moved_us = offset_us - p->clock_offset_us;

    if (moved_us > JUMP_US || moved_us < -JUMP_US) {
        p->clock_offset_us = offset_us;
        planner_room_changed(p, NULL);
    }
    for (unsigned i = 0; i < timeline_count(t); i++)
        if (timeline_at(t, i)->from_us <= now_us(p))
            timeline_at(t, i)->is_stale = true;
    planner_settle(p);
}

/* ---- For the queue ---- */

/* Only a cycle finds out when one of the first pods may start at the earliest.
 * After it, fill() asks the first pod without reservation again.
 */
bool
planner_must_try(const struct planner *p, const struct queued_pod *queued)
{
    return nominator_count(p->parts.handle->nominator) > 0
           || (queued->passed_over == 0 && lacks_reservation(p, queued));
}

bool
planner_is_first(const struct planner *p, const struct queued_pod *queued)
{
    return nominator_count(p->parts.handle->nominator) > 0 || planner_may_reserve(p, queued);
}

/* If there are fewer reservations than allowed, this is not needed: the first
 * unschedulable pod gets the next one.
 */
bool
planner_overtakes(const struct planner *p, const struct queued_pod *queued)
{
    const struct timeline *t = timeline_of(p);

    return timeline_count(t) >= timeline_most(t) && timeline_most(t) > 0
           && lacks_reservation(p, queued);
}
