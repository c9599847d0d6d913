/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the pods that wait for a node, in the order in which they are tried
 *
 * kube-scheduler's SchedulingQueue. Pods that are ready to be tried are
 * *active*, in the order of the QueueSort plugin. Pods that failed a short time
 * ago and may be tried again are in *backoff*. Pods that no event has helped
 * yet are *unschedulable* (unschedulable_pods.h). Pods that a PreEnqueue plugin
 * keeps out are *gated*.
 *
 * Owns:       every queued pod, including those in flight, until it leaves.
 * Called by:  the cycle (pop, fail, leave) and the informers (the rest).
 * Thread:     the scheduler's.
 * Invariant:  a pod is in exactly one state (queued_pod.h).
 *
 * Source: kube-scheduler, backend/queue/scheduling_queue.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct cluster_event;
struct string_ids;
struct nominator;
struct object;
struct pod_view;
struct profile;
struct queue;
struct queue_policy;
struct queued_pod;

struct queue_settings {
    struct clock *clock;
    struct nominator *nominator;
    struct string_ids *signatures;
    int64_t initial_backoff_us; /* 0: 1 s */
    int64_t max_backoff_us;     /* 0: 10 s */
    int64_t leftover_us;        /* 0: 5 min; longest time unschedulable */

    /* Kiln's behaviour: of equal pods one at a time is activated
     * (unschedulable_pods.h), a pod that fails keeps its place in the order,
     * and its backoff is at most as long as one retry of every unschedulable
     * group takes. False: upstream's behaviour.
     */
    bool is_sharing;

    /* The policy says what the scheduler decides; NULL: nothing, as upstream. */
    const struct queue_policy *policy;
    void *context; /* of the policy */
};

/* Life */
void queue_free(struct queue *q);
struct queue *queue_new(const struct queue_settings *settings) OWNED_BY(queue_free);
DEFINE_CLEANUP(struct queue, queue_free)

/* Pods of the API. */

/* Adds the pod in the place of one with its name. */
void queue_add(struct queue *q, struct pod_view *pod, struct profile *profile);

/* The pod has changed; `old_object` is the pod before. A pod that is not in the queue is
 * added.
 */
void queue_update(struct queue *q, const struct object *old_object, struct pod_view *pod,
                  struct profile *profile);

/* The pod is deleted. One in flight is only marked, and goes when its cycle ends. */
void queue_remove(struct queue *q, const char *namespace, const char *name);

/* For a pod that left the queue and may be returned to it: the pod then has its
 * newer state.
 */
void queue_update_popped(struct queued_pod *pod, struct pod_view *newer);

/* The cycle. Each pod of a group fails, leaves or is returned by itself; the group is tried
 * again when all its pods have come back.
 */

/* Activates the first unschedulable pod in the order that newly freed room may help, unless
 * an active pod comes before it.
 */
void queue_hand_out_room(struct queue *q);

/* Whether queue_hand_out_room may activate a pod. */
bool queue_has_room_to_hand_out(const struct queue *q);

/* Returns the next pod, which is in flight from now on, or NULL. All pods of its group are
 * in flight with it (queued_group_flying).
 */
struct queued_pod *queue_pop(struct queue *q);

/* Makes the first active pods unschedulable again that were activated for room which other
 * pods have taken, at most `most` of them, as if they had been tried. Returns whether there
 * was one.
 */
bool queue_skip_late(struct queue *q, unsigned most);

/* Takes the pod back. Its sets `unschedulable` and `pending` say which plugins rejected it;
 * if both are empty there was an error, and the pod is tried again after its backoff.
 */
void queue_fail(struct queue *q, struct queued_pod *pod TAKES);

/* The pod has a node and belongs to the caller from now on, who frees it or, when binding
 * fails, returns it.
 */
void queue_leave(struct queue *q, struct queued_pod *pod);

/* Takes a pod back that had left. */
void queue_return(struct queue *q, struct queued_pod *pod TAKES);

/* Takes several pods back that had left. */
void queue_return_all(struct queue *q, struct queued_pod **pods, unsigned count);

void queued_pod_free(struct queued_pod *pod);

/* Reports an event to the queue, which activates the pods that the event may
 * help. `old_object` is NULL when an object was added, and `new_object` when it
 * was deleted; both are NULL when only the kind of event is known.
 */
void queue_event(struct queue *q, const struct cluster_event *event,
                 const struct object *old_object, const struct object *new_object);

/* Reports an event that may have freed room on these nodes and nowhere else; if
 * there are none: on any node.
 */
void queue_event_of_rooms(struct queue *q, const struct cluster_event *event,
                          const char *const *nodes, unsigned count);

/* The number of the next event that may help pods that wait for room. Events of
 * reservations do not count.
 */
uint64_t queue_next_event(const struct queue *q);

/* queue_first_unreserved leaves the pod out until that event, or with
 * PASSED_OVER until the pod is tried; 0: it does not leave the pod out.
 */
void queue_pass_over(struct queue *q, const char *namespace, const char *name, uint64_t until);

/* Computes the ranks of all active pods again, unless there are too many of them. */
void queue_rerank(struct queue *q);

/* Ranks the first unschedulable pod of each of the next `count` groups; successive calls go
 * through all groups in turn.
 */
void queue_rank_asleep(struct queue *q, unsigned count);

/* Makes the pod active now, even if its backoff has not ended. */
void queue_activate(struct queue *q, const char *namespace, const char *name);

/* Activates the pods whose backoff has ended; to be called at every tick. */
void queue_flush_backoff(struct queue *q);

/* Calls `held` for the pods whose group has become held since the last call and still is. */
void queue_notify_held(struct queue *q);

/* Has pods tried again that were unschedulable for too long; to be called every 30 seconds. */
void queue_flush_leftover(struct queue *q);

/* Returns when the first pod leaves backoff; INT64_MAX: no pod will. */
int64_t queue_next_backoff_us(const struct queue *q);

struct queue_counts {
    size_t active, backoff, unschedulable; /* a group counts as its leader */
    size_t gated;                          /* pods of held groups, too */
    size_t in_group;                       /* pods that a leader stands for */
    size_t in_flight;
    size_t groups; /* of equal unschedulable pods */
};
struct queue_counts queue_count(const struct queue *q);
const struct queued_pod *queue_find(const struct queue *q, const char *namespace, const char *name);

/* For the forecast, which keeps its result with the pod. */
struct queued_pod *queue_find_to_change(const struct queue *q, const char *namespace,
                                        const char *name);

/* Neither function walks through all pods. */

/* Returns the pod of that Job that came first, and how many pods the Job has here; NULL:
 * none.
 */
const struct queued_pod *queue_find_of_job(const struct queue *q, const char *job_uid,
                                           size_t *ret_count);

/* Counts the pods that are sorted before the pod, which need not be in the queue. False: the
 * pod is gated, or it is not in the queue and its profile sorts by rank.
 */
bool queue_count_before(const struct queue *q, struct pod_view *pod, struct profile *profile,
                        size_t *ret_before);

/* The first pod in the order that is unschedulable or in backoff because it
 * lacks room, or NULL. Pods that are passed over (queue_pass_over) are left
 * out, because it is known whether they get a reservation.
 */
const struct queued_pod *queue_first_unreserved(const struct queue *q);
typedef void queue_visit_fn(const struct queued_pod *pod, void *context);
void queue_visit(const struct queue *q, queue_visit_fn *visit, void *context);

/* Begins a visit of the pods in their order, without gated ones, which may be
 * done in parts (queue_order.h has next and end).
 */
struct queue_cursor;
void queue_begin_order(struct queue *q, struct queue_cursor *cursor);

/* Visits the labels of the events that are kept for pods in flight, with the
 * number of events of each.
 */
typedef void queue_event_fn(const char *label, size_t count, void *context);
void queue_visit_events(const struct queue *q, queue_event_fn *visit, void *context);

/* The backoff of a pod after so many attempts. */
int64_t queue_backoff_us(int64_t initial_us, int64_t max_us, unsigned attempts);
