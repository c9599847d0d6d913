/* SPDX-License-Identifier: Apache-2.0 */
/* As upstream's queue: an event that may help a pod is never lost. A pod that fails while
 * events arrive is checked against those that came since it was popped, and only then put to
 * sleep; otherwise a pod whose room became free during its own cycle would wait for the next
 * event, which may be hours away.
 *
 * A pod in flight keeps the object that it was popped with, and takes the newer one when it
 * returns: what a cycle has read must not change under it. A deleted pod in flight stays until
 * the cycle gives it back, for the same reason.
 */
#include "controller/scheduler/queue/queue.h"

#include <string.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/in_flight.h"
#include "controller/scheduler/queue/late_rooms.h"
#include "controller/scheduler/queue/queue_order.h"
#include "controller/scheduler/queue/queue_state.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "controller/scheduler/queue/waiting_jobs.h"
#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/api/object/item_map.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"
#include "lib/base/map.h"

#define SECOND_US INT64_C(1000000)

static bool
active_less(const void *a, const void *b, void *context)
{
    const struct queued_pod *pa = a, *pb = b;

    (void)context;
    return profile_less(pa->profile, pa, pb);
}

/* The end of the backoff was computed when the pod entered the heap, so that
 * the order of the heap does not change.
 */
static bool
backoff_less(const void *a, const void *b, void *context)
{
    const struct queued_pod *pa = a, *pb = b;

    (void)context;
    return pa->backoff_end_us < pb->backoff_end_us;
}

static const char *
queued_pod_key(const void *pod)
{
    return ((const struct queued_pod *)pod)->key;
}

static const struct queue_policy no_policy = {0};

struct queue *
queue_new(const struct queue_settings *settings)
{
    struct queue *q = xnew(struct queue);
    size_t place = offsetof(struct queued_pod, place);

    q->settings = *settings;
    q->policy = settings->policy != NULL ? settings->policy : &no_policy;
    if (q->settings.initial_backoff_us == 0)
        q->settings.initial_backoff_us = SECOND_US;
    if (q->settings.max_backoff_us == 0)
        q->settings.max_backoff_us = 10 * SECOND_US;
    if (q->settings.leftover_us == 0)
        q->settings.leftover_us = 300 * SECOND_US;
    q->pods = item_map_new(queued_pod_key);
    q->jobs = waiting_jobs_new();
    q->order = queue_order_new(active_less, q);
    q->active = heap_new(active_less, q, place);
    q->backoff = heap_new(backoff_less, q, place);
    q->unschedulable_pods = unschedulable_pods_new(active_less, q);
    q->in_flight = in_flight_new();
    q->late_rooms = late_rooms_new();
    q->next_event = 1;
    q->offered_by = "";
    q->queued_groups = map_new();
    list_init(&q->unschedulable);
    list_init(&q->gated);
    list_init(&q->untold);
    list_init(&q->untold_groups);
    return q;
}

void
queued_pod_free(struct queued_pod *pod)
{
    struct queued_pod *p = pod;

    pod_view_unref(p->pod);
    pod_view_unref(p->newer);
    free(p->key);
    free(p);
}

void
queue_free(struct queue *q)
{
    size_t at = 0;
    void *value;

    if (q == NULL)
        return;
    in_flight_free(q->in_flight); /* the pods contain its marks */
    while (item_map_next(q->pods, &at, &value))
        queued_pod_free(value);
    at = 0;
    while (map_next(q->queued_groups, &at, NULL, &value))
        queued_group_free(value);
    map_free(q->queued_groups);
    unschedulable_pods_free(q->unschedulable_pods);
    late_rooms_free(q->late_rooms);
    heap_free(q->active);
    heap_free(q->backoff);
    waiting_jobs_free(q->jobs);
    queue_order_free(q->order);
    item_map_free(q->pods);
    free(q);
}

#define KEY_SIZE OBJECT_KEY_SIZE

static const char *
key_of(const char *namespace, const char *name, char out[KEY_SIZE])
{
    size_t at = namespace != NULL ? strnlen(namespace, KEY_SIZE - 2) : 0;
    size_t length = strnlen(name, KEY_SIZE - 2 - at);

    if (at > 0)
        memcpy(out, namespace, at);
    out[at++] = '/';
    memcpy(out + at, name, length);
    out[at + length] = '\0';
    return out;
}

static struct queued_pod *
find_pod(const struct queue *q, const struct pod_view *pod)
{
    char key[KEY_SIZE];

    return item_map_find(q->pods, key_of(pod->namespace, pod->name, key));
}

/* Makes the pod known by its name and by its Job, whatever its state. */
static void
put_pod(struct queue *q, struct queued_pod *p)
{
    item_map_put(q->pods, p);
    waiting_jobs_add(q->jobs, p);
}

static void
take_pod(struct queue *q, struct queued_pod *p)
{
    item_map_remove(q->pods, p->key);
    waiting_jobs_remove(q->jobs, p);
    queue_leave_order(q, p);
}

void
queue_add(struct queue *q, struct pod_view *pod, struct profile *profile)
{
    char key[KEY_SIZE];
    struct queued_pod *p;

    queue_remove(q, pod->namespace, pod->name);
    p = xnew(struct queued_pod);
    p->key = xstrdup(key_of(pod->namespace, pod->name, key));
    p->pod = pod_view_ref(pod);
    p->profile = profile;
    p->queued_at_us = p->failed_at_us = queue_now_us(q);
    p->order = q->arrivals++;
    p->place = HEAP_NOWHERE;
    p->gate_reason = STRING_ID_NONE;
    list_init(&p->link);
    list_init(&p->mark.link);
    put_pod(q, p);
    queue_join_group(q, p);
    q->event = "PodAdd";
    queue_enter(q, p);
}

/* Whether the pod keeps its place in the order. */
static bool
is_sorted_alike(const struct queued_pod *p, struct pod_view *pod)
{
    struct queued_pod newer = *p;

    newer.pod = pod;
    return !profile_less(p->profile, p, &newer) && !profile_less(p->profile, &newer, p);
}

static void
set_pod(struct queue *q, struct queued_pod *p, struct pod_view *pod)
{
    bool moves = p->is_ordered && !is_sorted_alike(p, pod);
    bool must_run = !pod_update_is_of_status(p->pod->object, pod->object);
    bool changes_job =
        !waiting_jobs_is_same_job(p->pod, pod) && item_map_find(q->pods, p->key) == p;

    if (moves)
        queue_leave_order(q, p);
    if (changes_job)
        waiting_jobs_remove(q->jobs, p);
    pod_view_ref(pod);
    pod_view_unref(p->pod);
    p->pod = pod;
    if (must_run)
        queue_must_run(p);
    if (must_run && p->queued_group != NULL && p->queued_group->leader != NULL)
        queue_must_run(p->queued_group->leader);
    if (moves)
        queue_enter_order(q, p);
    if (changes_job)
        waiting_jobs_add(q->jobs, p);
}

void
queue_update_popped(struct queued_pod *pod, struct pod_view *newer)
{
    pod_view_unref(pod->newer);
    pod->newer = pod_view_ref(newer);
}

static void
update_in_flight(struct queue *q, struct queued_pod *p, const struct object *old_object,
                 struct pod_view *pod)
{
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n = events_of_pod_update(old_object, pod->object, false, events);

    queue_update_popped(p, pod);
    for (unsigned i = 0; i < n; i++)
        in_flight_add(q->in_flight, &events[i], old_object, pod->object);
}

/* A gated or unschedulable pod is activated only by events that its rejecting
 * plugins registered for. When the pod itself changes, it leaves its group of
 * equal pods, so it is also activated when room was offered to that group and
 * the group was not yet asked: put back as unschedulable, the pod would count
 * as asked. It is then active only because pods left room.
 */
static void
update_waiting(struct queue *q, struct queued_pod *p, const struct object *old_object,
               struct pod_view *pod)
{
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n = events_of_pod_update(old_object, pod->object, false, events);
    bool was_gated = p->state == QUEUE_GATED;
    enum wake_strategy strategy = WAKE_SKIP;
    bool is_offered = p->state == QUEUE_UNSCHEDULABLE
                      && unschedulable_pods_is_offered(p, late_rooms_next(q->late_rooms));

    q->event = "PodUpdate";
    queue_take_out(q, p);
    queue_wake_next(q, p);
    set_pod(q, p, pod);
    for (unsigned i = 0; i < n && strategy == WAKE_SKIP; i++)
        strategy = wake_strategy(p, &events[i], old_object, pod->object);
    is_offered = is_offered && strategy == WAKE_SKIP;
    if (strategy == WAKE_SKIP && was_gated)
        queue_put_gated(q, p);
    else
        queue_requeue(q, p, is_offered ? WAKE_AFTER_BACKOFF : strategy);
    p->is_woken_by_pods = is_offered;
}

static void
update_member(struct queue *q, struct queued_pod *p, const struct object *old_object,
              struct pod_view *pod)
{
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n = events_of_pod_update(old_object, pod->object, false, events);

    q->event = "PodUpdate";
    set_pod(q, p, pod);
    for (unsigned i = 0; i < n; i++)
        queue_update_member(q, p, &events[i], old_object, pod->object);
}

void
queue_update(struct queue *q, const struct object *old_object, struct pod_view *pod,
             struct profile *profile)
{
    struct queued_pod *p = find_pod(q, pod);

    if (p == NULL || (p->state != QUEUE_IN_FLIGHT && queue_has_other_group(q, p, pod))) {
        queue_add(q, pod, profile);
        return;
    }
    switch (p->state) {
    case QUEUE_IN_FLIGHT:
        update_in_flight(q, p, old_object, pod);
        break;
    case QUEUE_ACTIVE:
        set_pod(q, p, pod);
        heap_moved(q->active, p);
        break;
    case QUEUE_BACKOFF:
        set_pod(q, p, pod);
        break;
    case QUEUE_UNSCHEDULABLE:
    case QUEUE_GATED:
        update_waiting(q, p, old_object, pod);
        break;
    case QUEUE_IN_GROUP:
        update_member(q, p, old_object, pod);
        break;
    }
}

void
queue_remove(struct queue *q, const char *namespace, const char *name)
{
    char key[KEY_SIZE];
    struct queued_pod *p = item_map_find(q->pods, key_of(namespace, name, key));

    if (p == NULL)
        return;
    take_pod(q, p);
    if (p->state == QUEUE_IN_FLIGHT) {
        p->is_deleted = true;
        return;
    }
    q->event = "PodDelete";
    queue_take_out(q, p);
    queue_count_rejectors(p, 0);
    queue_wake_next(q, p);
    queue_leave_group(q, p);
    queued_pod_free(p);
}

void
queue_begin_flight(struct queue *q, struct queued_pod *p)
{
    p->state = QUEUE_IN_FLIGHT;
    p->attempts++;
    queue_count_rejectors(p, 0);
    p->unschedulable = 0;
    p->pending = 0;
    queue_must_run(p);
    in_flight_begin(q->in_flight, p);
}

struct queued_pod *
queue_pop(struct queue *q)
{
    struct queued_pod *p = heap_pop(q->active);

    if (p == NULL)
        return NULL;
    queue_unrank(q, p);
    if (p->queued_group != NULL)
        queue_fly_group(q, p->queued_group);
    else
        queue_begin_flight(q, p);
    return p;
}

/* Events that came while the pod was in flight may have helped it already. */
struct replay {
    const struct queued_pod *pod;
    enum wake_strategy strategy;
};

static bool
replay_event(const struct cluster_event *event, const struct object *old_object,
             const struct object *new_object, void *context)
{
    struct replay *r = context;
    enum wake_strategy s = wake_strategy(r->pod, event, old_object, new_object);

    if (s > r->strategy)
        r->strategy = s;
    return r->strategy != WAKE_NOW;
}

/* The pod takes the object that the API reported while it was in flight. False:
 * there was none.
 */
static bool
take_newer(struct queue *q, struct queued_pod *p)
{
    if (p->newer == NULL)
        return false;
    set_pod(q, p, p->newer);
    pod_view_unref(p->newer);
    p->newer = NULL;
    return true;
}

void
queue_fail(struct queue *q, struct queued_pod *pod TAKES)
{
    struct queued_pod *p = pod;
    struct replay replay = {.pod = p, .strategy = WAKE_SKIP};
    bool is_elsewhere;

    if (p->is_deleted) {
        queue_leave(q, p);
        queued_pod_free(p);
        return;
    }
    is_elsewhere = take_newer(q, p) && queue_has_other_group(q, p, p->pod);
    if (is_elsewhere) {
        queue_leave_group(q, p);
        queue_join_group(q, p);
    }
    p->failed_at_us = queue_now_us(q);
    if (!q->settings.is_sharing) {
        queue_leave_order(q, p);
        p->queued_at_us = p->failed_at_us;
        queue_enter_order(q, p);
    }
    if ((p->unschedulable | p->pending) == 0)
        replay.strategy = WAKE_AFTER_BACKOFF;
    else
        in_flight_visit(q->in_flight, p, replay_event, &replay);
    in_flight_end(q->in_flight, p);
    q->event = "ScheduleAttemptFailure";
    if (is_elsewhere)
        queue_enter(q, p);
    else if (p->queued_group != NULL)
        queue_land_member(q, p, replay.strategy);
    else
        queue_requeue(q, p, replay.strategy);
}

void
queue_leave(struct queue *q, struct queued_pod *pod)
{
    in_flight_end(q->in_flight, pod);
    q->event = "PodScheduled";
    queue_wake_next(q, pod);
    queue_leave_group(q, pod);
    if (!pod->is_deleted)
        take_pod(q, pod);
}

/* False: the pod was deleted, or the queue has another pod of its name. */
static bool
put_back(struct queue *q, struct queued_pod *pod TAKES)
{
    if (pod->is_deleted || item_map_find(q->pods, pod->key) != NULL) {
        queued_pod_free(pod);
        return false;
    }
    take_newer(q, pod);
    put_pod(q, pod);
    pod->failed_at_us = queue_now_us(q);
    queue_join_group(q, pod);
    return true;
}

void
queue_return_all(struct queue *q, struct queued_pod **pods, unsigned count)
{
    struct queued_group *settled = NULL;
    unsigned left = 0;

    q->event = "ScheduleAttemptFailure";
    for (unsigned i = 0; i < count; i++)
        if (put_back(q, pods[i]))
            pods[left++] = pods[i];
    for (unsigned i = 0; i < left; i++)
        if (pods[i]->queued_group != NULL)
            queue_rejoin_member(q, pods[i]);
    for (unsigned i = 0; i < left; i++) {
        struct queued_pod *p = pods[i];

        if (p->queued_group == NULL)
            queue_requeue(q, p,
                          (p->unschedulable | p->pending) == 0 ? WAKE_AFTER_BACKOFF : WAKE_SKIP);
        else if (p->queued_group != settled)
            queue_settle_group(q, settled = p->queued_group);
    }
}

void
queue_return(struct queue *q, struct queued_pod *pod TAKES)
{
    queue_return_all(q, &pod, 1);
}

void
queue_activate(struct queue *q, const char *namespace, const char *name)
{
    char key[KEY_SIZE];
    struct queued_pod *p = item_map_find(q->pods, key_of(namespace, name, key));

    if (p != NULL && p->state == QUEUE_IN_GROUP)
        p = p->queued_group->leader;
    if (p == NULL)
        return;
    queue_must_run(p);
    if (p->state == QUEUE_ACTIVE)
        return;
    if (p->state == QUEUE_IN_FLIGHT) {
        in_flight_add(q->in_flight, &event_force_activate, NULL, p->pod->object);
        return;
    }
    q->event = event_force_activate.label;
    queue_take_out(q, p);
    queue_enter(q, p);
}

void
queue_pass_over(struct queue *q, const char *namespace, const char *name, uint64_t until)
{
    char key[KEY_SIZE];
    struct queued_pod *p = item_map_find(q->pods, key_of(namespace, name, key));

    if (p != NULL && p->state == QUEUE_IN_GROUP)
        p = p->queued_group->leader;
    if (p != NULL)
        p->passed_over = until;
}

void
queue_flush_backoff(struct queue *q)
{
    struct queued_pod *p;

    q->event = "BackoffComplete";
    while ((p = heap_top(q->backoff)) != NULL && p->backoff_end_us <= queue_now_us(q)) {
        heap_pop(q->backoff);
        queue_enter(q, p);
    }
}

static bool
is_leftover(const struct queue *q, struct list *link)
{
    const struct queued_pod *p = container_of(link, struct queued_pod, link);

    return queue_now_us(q) - p->failed_at_us > q->settings.leftover_us;
}

/* As upstream does, pods in flight get the event, too, even when all leftover
 * pods are gated and stay.
 */
void
queue_flush_leftover(struct queue *q)
{
    if ((!list_is_empty(&q->unschedulable) && is_leftover(q, q->unschedulable.next))
        || (!list_is_empty(&q->gated) && is_leftover(q, q->gated.next)))
        in_flight_add(q->in_flight, &event_unschedulable_timeout, NULL, NULL);
    q->event = event_unschedulable_timeout.label;
    list_foreach_safe(link, &q->unschedulable)
    {
        struct queued_pod *p = container_of(link, struct queued_pod, link);

        if (!is_leftover(q, link))
            return;
        queue_take_out(q, p);
        queue_requeue(q, p, WAKE_AFTER_BACKOFF);
    }
}

struct queued_pod *
queue_find_to_change(const struct queue *q, const char *namespace, const char *name)
{
    char key[KEY_SIZE];

    return item_map_find(q->pods, key_of(namespace, name, key));
}

const struct queued_pod *
queue_find(const struct queue *q, const char *namespace, const char *name)
{
    return queue_find_to_change(q, namespace, name);
}
