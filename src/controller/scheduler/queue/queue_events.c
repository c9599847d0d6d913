/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the cluster, and the pods that they activate.
 *
 * Most events are the end of a pod. Of the pods that wait for free room, and
 * for nothing else that depends on other pods, such an event activates only
 * those for which the room on its node may be enough, one after the other in
 * their order, until the room is used up. On all other nodes the reason for the
 * rejection is unchanged: if room had become free there, that event would have
 * activated the pod.
 */
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/in_flight.h"
#include "controller/scheduler/queue/late_rooms.h"
#include "controller/scheduler/queue/queue_state.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "lib/base/heap.h"

/* After one event, at most this many pods are tried only to report that its
 * room is reserved for others.
 */
#define TOLD_AT_ONCE 4u

/* Excludes the actions that only a waiting pod itself can cause. */
#define OF_OTHER_PODS \
    (ACTION_ALL & ~(unsigned)(ACTION_UPDATE_POD_TOLERATIONS | ACTION_UPDATE_POD_GATES_ELIMINATED))

static bool
is_told_of_pods(const struct plugin *plugin)
{
    for (unsigned w = 0; w < plugin->n_wakes; w++)
        if (plugin->wakes[w].resource == EVENT_POD
            && (plugin->wakes[w].actions & OF_OTHER_PODS) != 0)
            return true;
    return false;
}

/* Of the plugins that rejected the pod, only those for free and reserved room
 * depend on other pods.
 */
static bool
waits_for_room_alone(const struct queued_pod *p)
{
    const struct profile *profile = p->profile;
    plugin_set rejectors = p->unschedulable | p->pending;
    plugin_set others = rejectors & ~(profile->rooms | profile->timed);

    for (; others != 0; others &= others - 1) {
        unsigned i = (unsigned)__builtin_ctzll(others);

        if (i >= profile->n_entries || is_told_of_pods(profile->entries[i].plugin))
            return false;
    }
    return (rejectors & (profile->rooms | profile->timed)) != 0;
}

static bool
goes_by_room(const struct queue *q, const struct queued_pod *p)
{
    return q->settings.is_sharing && q->policy->has_room != NULL && waits_for_room_alone(p)
           && !q->policy->must_try(p, q->settings.context);
}

/* ---- Events ---- */

/* An event, while the groups are visited. */
struct wake_call {
    struct queue *q;
    const struct cluster_event *event;
    const struct object *old_object;
    const struct object *new_object;
    const char *const *nodes; /* room became free there, nothing else */
    unsigned n_nodes;         /* 0: the nodes are not known */
    uint64_t number;          /* of the first node (late_rooms.h) */
};

static bool
is_ready(const struct queued_pod *pod, void *context)
{
    return !queue_is_backing_off(context, pod);
}

static bool
has_room_there(const struct queue *q, const struct queued_pod *p, const char *node)
{
    return q->policy->has_room(p, node, q->settings.context);
}

static bool
has_room(const struct wake_call *call, const struct queued_pod *p)
{
    for (unsigned i = 0; i < call->n_nodes; i++)
        if (has_room_there(call->q, p, call->nodes[i]))
            return true;
    return false;
}

/* A pod before this one has the room there reserved. */
static bool
is_kept_off(const struct queue *q, const struct queued_pod *p, const char *node)
{
    return q->policy->is_kept_off != NULL && q->policy->is_kept_off(p, node, q->settings.context);
}

/* A reservation event may concern the pod's own reservation; a pod with a
 * reservation is tried anyway when that begins.
 */
static bool
is_reserved(const struct wake_call *call, const struct queued_pod *p)
{
    const struct queue *q = call->q;

    return call->event->resource == EVENT_RESERVATION && q->policy->is_reserved != NULL
           && q->policy->is_reserved(p, q->settings.context);
}

static bool
wake_group(struct queued_pod *first, void *context)
{
    const struct wake_call *call = context;
    struct queue *q = call->q;
    bool is_for_room = call->n_nodes > 0 && goes_by_room(q, first);
    enum wake_strategy strategy;
    struct queued_pod *p;

    if (is_reserved(call, first))
        return true;
    if (is_for_room && !has_room(call, first))
        return true;
    strategy = wake_strategy(first, call->event, call->old_object, call->new_object);
    if (strategy == WAKE_SKIP)
        return false;
    p = unschedulable_pods_pick(q->unschedulable_pods, first, is_ready, q);
    if (p != NULL) {
        queue_take_out(q, p);
        p->woken_for = is_for_room ? call->number : 0;
        p->is_woken_by_pods =
            call->event->resource == EVENT_POD || call->event->resource == EVENT_RESERVATION;
        queue_requeue(q, p, strategy);
    }
    return true;
}

static bool
shape_goes_by_room(const struct queued_pod *p, void *context)
{
    const struct wake_call *call = context;
    const struct queue *q = call->q;

    return q->settings.is_sharing && q->policy->has_room != NULL && waits_for_room_alone(p);
}

/* Whether the pod may have to be tried whatever room is free. */
static bool
is_first(const struct queued_pod *p, void *context)
{
    const struct wake_call *call = context;
    const struct queue *q = call->q;

    return q->policy->is_first == NULL || q->policy->is_first(p, q->settings.context);
}

static bool
may_help(const struct queued_pod *p, void *context)
{
    const struct wake_call *call = context;

    return has_room(call, p)
           && wake_strategy(p, call->event, call->old_object, call->new_object) != WAKE_SKIP;
}

/* A pod that waits for room alone is not activated here; it is offered the
 * room.
 */
static bool
wake_if_must(struct queued_pod *first, void *context)
{
    const struct wake_call *call = context;

    return goes_by_room(call->q, first) || wake_group(first, context);
}

/* The event activates no pod that waits for room alone. */
static bool
is_of_no_room(const struct cluster_event *event)
{
    return event->actions == ACTION_UPDATE_OTHER
           || (event->resource == EVENT_POD && event->actions == ACTION_ADD);
}

static void
offer(struct wake_call *call)
{
    struct queue *q = call->q;

    q->offered_by = call->event->label;
    q->n_to_tell = TOLD_AT_ONCE;
    unschedulable_pods_offer(q->unschedulable_pods, call->event,
                             &(struct unschedulable_pods_offer){
                                 .goes_by_room = shape_goes_by_room,
                                 .is_first = is_first,
                                 .may_help = may_help,
                                 .try_first = wake_if_must,
                                 .visit = wake_group,
                                 .number = call->number,
                                 .context = call,
                             });
    if (q->policy->activated != NULL && queue_has_room_to_hand_out(q))
        q->policy->activated(q->settings.context);
}

static void
note_event(struct wake_call *call)
{
    struct queue *q = call->q;

    q->event = call->event->label;
    call->number = late_rooms_next(q->late_rooms);
    for (unsigned i = 0; i < call->n_nodes; i++)
        late_rooms_add(q->late_rooms, call->nodes[i]);
    if (call->n_nodes == 0 && !is_of_no_room(call->event))
        late_rooms_add(q->late_rooms, NULL);
    q->next_event += call->event->resource != EVENT_RESERVATION && !is_of_no_room(call->event);
    in_flight_add(q->in_flight, call->event, call->old_object, call->new_object);
    if (call->n_nodes > 0)
        offer(call);
    else
        unschedulable_pods_visit(q->unschedulable_pods, call->event, wake_group, call);
}

void
queue_event(struct queue *q, const struct cluster_event *event, const struct object *old_object,
            const struct object *new_object)
{
    const char *node = NULL;
    struct wake_call call = {
        .q = q, .event = event, .old_object = old_object, .new_object = new_object, .nodes = &node};

    if (q->policy->room_of != NULL && old_object != NULL && event->resource == EVENT_POD
        && event->actions == ACTION_DELETE)
        node = q->policy->room_of(old_object, q->settings.context);
    call.n_nodes = node != NULL;
    note_event(&call);
}

void
queue_event_of_rooms(struct queue *q, const struct cluster_event *event, const char *const *nodes,
                     unsigned count)
{
    note_event(&(struct wake_call){.q = q, .event = event, .nodes = nodes, .n_nodes = count});
}

/* ---- Pods whose room was taken ---- */

struct room_question {
    const struct queue *q;
    const struct queued_pod *pod;
};

static bool
has_room_on(const char *node, void *context)
{
    const struct room_question *ask = context;

    return has_room_there(ask->q, ask->pod, node) && !is_kept_off(ask->q, ask->pod, node);
}

static bool
comes_too_late(const struct queue *q, struct queued_pod *p)
{
    if (p->woken_for == 0)
        return false;
    unschedulable_pods_update(p);
    return goes_by_room(q, p)
           && !late_rooms_may_help(q->late_rooms, p->woken_for, has_room_on,
                                   &(struct room_question){q, p});
}

/* Nothing else that rejected the pod's group has changed since the last
 * attempt, and the group still has no room.
 */
static bool
sleeps_on(const struct queue *q, struct queued_pod *p)
{
    if (p->queued_group == NULL || !p->is_woken_by_pods || q->policy->group_sleeps_on == NULL)
        return false;
    unschedulable_pods_update(p);
    return goes_by_room(q, p) && q->policy->group_sleeps_on(p, q->settings.context);
}

bool
queue_skip_late(struct queue *q, unsigned most)
{
    struct queued_pod *p;
    unsigned skipped = 0;

    q->event = "ScheduleAttemptFailure";
    while (skipped < most && (p = heap_top(q->active)) != NULL
           && (comes_too_late(q, p) || sleeps_on(q, p))) {
        queue_take_out(q, p);
        queue_requeue(q, p, WAKE_SKIP);
        skipped++;
    }
    return skipped > 0;
}

/* ---- Pods that free room is offered to ---- */

struct room_look {
    const struct queue *q;
    const struct queued_pod *pod;
    bool is_kept_off; /* on at least one node */
};

struct room_taker {
    const struct queue *q;
    /* The number of the event whose room the last taker takes; 0: that pod is
     * tried only to report that the room is reserved.
     */
    uint64_t number;
};

static bool
is_open_on(const char *node, void *context)
{
    struct room_look *look = context;

    if (!has_room_there(look->q, look->pod, node))
        return false;
    if (!is_kept_off(look->q, look->pod, node))
        return true;
    look->is_kept_off = true;
    return false;
}

/* A pod that waited for room which is now reserved for others gets a cycle to
 * report that, up to a number of pods for one event.
 */
static bool
is_to_be_told(const struct room_look *look)
{
    const struct queued_pod *p = look->pod;

    return look->is_kept_off && look->q->n_to_tell > 0
           && ((p->unschedulable | p->pending) & p->profile->timed) == 0;
}

static bool
takes(const struct queued_pod *p, uint64_t since, void *context)
{
    struct room_taker *taker = context;
    struct room_look look = {.q = taker->q, .pod = p};
    uint64_t number = late_rooms_find(taker->q->late_rooms, since, is_open_on, &look);

    if (number == 0 && !is_to_be_told(&look))
        return false;
    taker->number = number;
    return true;
}

/* An active pod that comes before the first taker gets the room first. */
void
queue_hand_out_room(struct queue *q)
{
    uint64_t latest = late_rooms_next(q->late_rooms);
    const struct queued_pod *active = heap_top(q->active);
    struct room_taker taker = {.q = q};
    struct queued_pod *p, *ready;

    if (!unschedulable_pods_has_offered(q->unschedulable_pods))
        return;
    p = unschedulable_pods_first_offered(q->unschedulable_pods, latest, takes, &taker);
    if (p == NULL || (active != NULL && !profile_less(p->profile, p, active)))
        return;
    unschedulable_pods_note_seen(p, latest);
    ready = unschedulable_pods_pick(q->unschedulable_pods, p, is_ready, q);
    p = ready != NULL ? ready : p; /* before its group's activated pod */
    q->event = q->offered_by;
    queue_take_out(q, p);
    p->woken_for = taker.number;
    p->is_woken_by_pods = true;
    q->n_to_tell -= taker.number == 0;
    queue_requeue(q, p, WAKE_AFTER_BACKOFF);
}

bool
queue_has_room_to_hand_out(const struct queue *q)
{
    return unschedulable_pods_has_offered(q->unschedulable_pods);
}

/* ---- The order of unschedulable pods ---- */

static void
wake_overtaker(struct queue *q, struct queued_pod *p)
{
    q->event = "RankChanged";
    queue_take_out(q, p);
    queue_requeue(q, p, WAKE_AFTER_BACKOFF);
}

/* False: with its new rank the pod belongs to another group. */
static bool
rank_one_asleep(struct queue *q, struct queued_pod *p, bool *ret_is_other)
{
    struct queue_rank rank = q->policy->rank(p, q->settings.context);
    struct queue_rank before = p->rank;

    p->rank.kind = rank.kind;
    queue_unrank(q, p);
    rank.kind = NULL;
    *ret_is_other =
        rank.is_guarded != before.is_guarded || rank.key < before.key || rank.key > before.key;
    if (rank.number != before.number)
        return false;
    if (!*ret_is_other)
        return true;
    unschedulable_pods_leave_order(p);
    queue_leave_order(q, p);
    p->rank = rank;
    queue_enter_order(q, p);
    unschedulable_pods_enter_order(p);
    return true;
}

void
queue_rank_asleep(struct queue *q, unsigned count)
{
    size_t groups = unschedulable_pods_groups(q->unschedulable_pods);

    if (q->policy->rank == NULL || q->policy->overtakes == NULL)
        return;
    for (size_t i = 0; i < groups && i < count; i++) {
        struct queued_pod *p = unschedulable_pods_next_turn(q->unschedulable_pods);
        bool is_other = false;

        if (p != NULL
            && (!rank_one_asleep(q, p, &is_other)
                || (is_other && waits_for_room_alone(p)
                    && q->policy->overtakes(p, q->settings.context))))
            wake_overtaker(q, p);
    }
}
