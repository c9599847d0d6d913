/* SPDX-License-Identifier: Apache-2.0 */
/* queue_look.c - how many pods wait, which ones, and in what order */
#include "controller/scheduler/queue/queue.h"

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/in_flight.h"
#include "controller/scheduler/queue/queue_order.h"
#include "controller/scheduler/queue/queue_state.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "controller/scheduler/queue/waiting_jobs.h"
#include "lib/api/object/item_map.h"
#include "lib/api/pod/pod.h"
#include "lib/base/heap.h"

int64_t
queue_next_backoff_us(const struct queue *q)
{
    const struct queued_pod *p = heap_top(q->backoff);

    return p != NULL ? p->backoff_end_us : INT64_MAX;
}

struct queue_counts
queue_count(const struct queue *q)
{
    return (struct queue_counts){
        .active = heap_count(q->active),
        .backoff = heap_count(q->backoff),
        .unschedulable = unschedulable_pods_count(q->unschedulable_pods),
        .gated = q->n_gated + q->n_held,
        .in_group = q->n_in_group - q->n_held,
        .in_flight = in_flight_pods(q->in_flight),
        .groups = unschedulable_pods_groups(q->unschedulable_pods),
    };
}

const struct queued_pod *
queue_find_of_job(const struct queue *q, const char *job_uid, size_t *ret_count)
{
    return waiting_jobs_find(q->jobs, job_uid, ret_count);
}

bool
queue_count_before(const struct queue *q, struct pod_view *pod, struct profile *profile,
                   size_t *ret_before)
{
    const struct queued_pod *p = queue_find(q, pod->namespace, pod->name);
    struct queued_pod unknown = {
        .pod = pod,
        .profile = profile,
        .queued_at_us = queue_now_us(q),
        .order = q->arrivals,
    };

    if (p == NULL ? profile_is_ranked(profile) : p->state == QUEUE_GATED)
        return false;
    *ret_before = queue_order_before(q->order, p != NULL ? p : &unknown);
    return true;
}

uint64_t
queue_next_event(const struct queue *q)
{
    return q->next_event;
}

static bool
lacks_room(const struct queued_pod *p, void *context)
{
    const struct queue *q = context;

    return p->passed_over < q->next_event && p->profile->timed != 0
           && ((p->unschedulable | p->pending) & (p->profile->rooms | p->profile->timed)) != 0;
}

static bool
backs_off(const struct queued_pod *p, void *context)
{
    return p->state == QUEUE_BACKOFF && lacks_room(p, context);
}

const struct queued_pod *
queue_first_unreserved(const struct queue *q)
{
    void *context = (void *)(uintptr_t)q;
    struct queued_pod *asleep =
        unschedulable_pods_first(q->unschedulable_pods, lacks_room, context);
    struct queued_pod *backing_off = queue_order_first(q->order, asleep, backs_off, context);

    return backing_off != NULL ? backing_off : asleep;
}

void
queue_visit(const struct queue *q, queue_visit_fn *visit, void *context)
{
    size_t at = 0;
    void *value;

    while (item_map_next(q->pods, &at, &value))
        visit(value, context);
}

void
queue_begin_order(struct queue *q, struct queue_cursor *cursor)
{
    queue_order_begin(q->order, cursor);
}

void
queue_visit_events(const struct queue *q, queue_event_fn *visit, void *context)
{
    in_flight_visit_labels(q->in_flight, visit, context);
}
