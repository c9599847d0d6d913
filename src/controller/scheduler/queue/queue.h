/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the pods that wait to be placed, in the order they will be tried
 *
 * kube-scheduler's SchedulingQueue: pods ready to be tried are *active*,
 * ordered by the QueueSort plugin; those that failed lately and may be tried
 * again are in *backoff*; those that no event has helped yet are
 * *unschedulable* (unschedulable_pods.h); those that a PreEnqueue plugin keeps
 * out are *gated*.
 *
 * Owns:       every queued pod, also those in flight, until they leave.
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
struct queue_rank;
struct queued_pod;

struct queue_settings {
    struct clock *clock;
    struct nominator *nominator;
    struct string_ids *signatures;
    int64_t initial_backoff_us; /* 0: 1 s */
    int64_t max_backoff_us;     /* 0: 10 s */
    int64_t leftover_us;        /* 0: 5 min; how long one may sleep */

    /* Kiln's way: equal pods wake one by one (unschedulable_pods.h), keep their
     * place in the order when they fail, and back off only as long as a round
     * of retries of all that sleeps would take. False: upstream's.
     */
    bool is_sharing;

    /* Activated: a pod became active, or there is room to hand out. Entered: one
     * came to "active", "backoff", "unschedulable" or "gated", by what happened.
     * Either may be NULL.
     */
    void (*activated)(void *context);
    void (*entered)(const char *queue, const char *event, void *context);

    /* Groups (pod_group.h). Group of: how many pods are placed together with
     * this one, itself included, and the group's name in its namespace (valid
     * until the next call); fewer than two: it is placed by itself. Refuse: why
     * a group with that pod cannot be placed at all, in lasting words, or NULL.
     * Held: the member waits for others, or is refused. Each may be NULL.
     */
    unsigned (*group_of)(const struct object *pod,
                         const char **ret_name,
                         void *context);
    const char *(*refuse_group)(const struct pod_view *pod,
                                const struct profile *profile,
                                void *context);
    void (*held)(const struct queued_pod *pod, void *context);

    /* Pods that room wakes. Room of: the node on which that pod's end has left
     * room (valid until the next call); NULL: it may help pods elsewhere, too.
     * Has room: the node may have enough for the pod now, or for one of its
     * group, by itself or with what preemption takes there. Must try: the pod
     * is to be tried, whatever is free; is first: it may be so, and so may all
     * before it. Is reserved: it has room in the future, and is tried when its
     * time has come. Kept off: the room there is reserved for others. Overtakes:
     * it comes before one that has a reservation, and has none. Group sleeps on:
     * the one whose leader this is has no room anywhere. All may be NULL: then
     * every end of a pod wakes all of which an end may help; kept off, is reserved
     * and overtakes by themselves, too.
     */
    const char *(*room_of)(const struct object *ended, void *context);
    bool (*has_room)(const struct queued_pod *pod,
                     const char *node,
                     void *context);
    bool (*is_kept_off)(const struct queued_pod *pod,
                        const char *node,
                        void *context);
    bool (*must_try)(const struct queued_pod *pod, void *context);
    bool (*is_first)(const struct queued_pod *pod, void *context);
    bool (*is_reserved)(const struct queued_pod *pod, void *context);
    bool (*overtakes)(const struct queued_pod *pod, void *context);
    bool (*group_sleeps_on)(struct queued_pod *leader, void *context);

    /* Rank: where a pod stands that becomes active. Unrank: it is so no more;
     * of a pod with a kind. Both may be NULL.
     */
    struct queue_rank (*rank)(const struct queued_pod *pod, void *context);
    void (*unrank)(const struct queued_pod *pod, void *context);
    void *context;
};

/* Life */
void queue_free(struct queue *q);
struct queue *queue_new(const struct queue_settings *settings)
    OWNED_BY(queue_free);
DEFINE_CLEANUP(struct queue, queue_free)

/* Pods of the API. Add replaces what is there. Update: `old_object` as it was;
 * a pod that is not there is added. Remove: also of one in flight, which then
 * ends with its cycle.
 */
void queue_add(struct queue *q, struct pod_view *pod, struct profile *profile);
void queue_update(struct queue *q,
                  const struct object *old_object,
                  struct pod_view *pod,
                  struct profile *profile);
void queue_remove(struct queue *q, const char *namespace, const char *name);

/* The pod left the queue and may be returned, as what it has become. */
void queue_update_popped(struct queued_pod *pod, struct pod_view *newer);

/* The cycle. Hand out room: the first pod that sleeps and that room which has come
 * free may help becomes active, unless one that is comes before it; has room to
 * hand out: that may wake one. Skip late: of the first active pods, at most so many, those that
 * were woken for room which others have taken sleep on, as if they had been
 * tried; true: some did. Pop: the next pod, in flight from now on, or NULL; all pods of its
 * group are with it (pod_group_flying). Fail: it comes back (its sets
 * `unschedulable` and `pending` say who rejected it; both empty: an error,
 * tried again after backoff). Leave: it has a node, and is the caller's from
 * now on, to be freed or, when binding fails, returned. Of a group each pod
 * fails, leaves or is returned; it is tried again when all have come back.
 */
void queue_hand_out_room(struct queue *q);
bool queue_has_room_to_hand_out(const struct queue *q);
struct queued_pod *queue_pop(struct queue *q);
bool queue_skip_late(struct queue *q, unsigned most);
void queue_fail(struct queue *q, struct queued_pod *pod TAKES);
void queue_leave(struct queue *q, struct queued_pod *pod);
void queue_return(struct queue *q, struct queued_pod *pod TAKES);
void
queue_return_all(struct queue *q, struct queued_pod **pods, unsigned count);
void queued_pod_free(struct queued_pod *pod);

/* Tells the queue of an event, which wakes the pods that it may help. The old
 * object is NULL when one was added and the new one when it was deleted; both
 * are NULL when only the kind of event is known.
 */
void queue_event(struct queue *q,
                 const struct cluster_event *event,
                 const struct object *old_object,
                 const struct object *new_object);

/* It was told that on these nodes, and nowhere else, room may have come free;
 * none: it may be anywhere.
 */
void queue_event_of_rooms(struct queue *q,
                          const struct cluster_event *event,
                          const char *const *nodes,
                          unsigned count);

/* The number of the next event that may help who waits for room, reservations
 * apart.
 */
uint64_t queue_next_event(const struct queue *q);

/* The pod is left out of queue_first_unreserved until that event, or with
 * PASSED_OVER until it is tried; 0: it is not.
 */
void queue_pass_over(struct queue *q,
                     const char *namespace,
                     const char *name,
                     uint64_t until);

/* Asks anew where the active pods stand, unless there are too many for that; and
 * where the first of so many groups of sleeping ones do, in turn.
 */
void queue_rerank(struct queue *q);
void queue_rank_asleep(struct queue *q, unsigned count);

/* Makes the pod active now, whatever its backoff. */
void queue_activate(struct queue *q, const char *namespace, const char *name);

/* Flush backoff every second: pods whose backoff has ended become active. Flush
 * leftover every 30 seconds: pods that were unschedulable for too long are
 * tried again. Tell held: of groups that were held since the last call and
 * still are. Next: when the first pod leaves backoff, INT64_MAX for none.
 */
void queue_flush_backoff(struct queue *q);
void queue_tell_held(struct queue *q);
void queue_flush_leftover(struct queue *q);
int64_t queue_next_backoff_us(const struct queue *q);

/* Look */
struct queue_counts {
    size_t active, backoff, unschedulable; /* of a pod group: its leader */
    size_t gated;                          /* held groups, too */
    size_t in_group;                       /* who others stand for */
    size_t in_flight;
    size_t groups; /* of equal pods that sleep */
};
struct queue_counts queue_count(const struct queue *q);
const struct queued_pod *
queue_find(const struct queue *q, const char *namespace, const char *name);

/* Of job: the pod of that Job that came first, and how many of it there are;
 * NULL: none. Before: how many are sorted before the pod, which may be unknown
 * here; false: it is gated, or unknown where the order goes by ranks. Neither
 * looks at all pods.
 */
const struct queued_pod *queue_find_of_job(const struct queue *q,
                                           const char *job_uid,
                                           size_t *ret_count);
bool queue_count_before(const struct queue *q,
                        struct pod_view *pod,
                        struct profile *profile,
                        size_t *ret_before);

/* The first in the order that sleeps or backs off because its room is lacking,
 * or NULL; without those that are passed over: it is known whether they get a
 * reservation.
 */
const struct queued_pod *queue_first_unreserved(const struct queue *q);
typedef void queue_visit_fn(const struct queued_pod *pod, void *context);
void queue_visit(const struct queue *q, queue_visit_fn *visit, void *context);

/* In their order, without gated ones, until the visitor returns false. */
typedef bool queue_visit_order_fn(struct queued_pod *pod, void *context);
void queue_visit_order(const struct queue *q,
                       queue_visit_order_fn *visit,
                       void *context);

/* The events that are kept for pods in flight, by their label. */
typedef void queue_event_fn(const char *label, size_t count, void *context);
void
queue_visit_events(const struct queue *q, queue_event_fn *visit, void *context);

/* How long a pod backs off after so many attempts. */
int64_t backoff_us(int64_t initial_us, int64_t max_us, unsigned attempts);
