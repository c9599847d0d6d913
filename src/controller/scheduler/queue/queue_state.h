/* SPDX-License-Identifier: Apache-2.0 */
/* queue_state.h - the internals of the queue, for its own files
 *
 * Called by:  queue.c (what happens to the queue), queue_moves.c (how a pod
 *             changes its state), queue_groups.c (how the members of a group
 *             do), queue_events.c (which event helps whom) and queue_look.c
 *             (answers). No other file.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queue_policy.h"
#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/base/list.h"

struct heap;
struct in_flight;
struct item_map;
struct late_rooms;
struct map;
struct queued_group;
struct queue_order;
struct unschedulable_pods;
struct waiting_jobs;

struct queue {
    struct queue_settings settings;
    const struct queue_policy *policy; /* never NULL */
    struct item_map *pods;             /* by their keys */
    struct waiting_jobs *jobs;         /* the same pods, by Job */
    struct queue_order *order;         /* the same pods, without gated ones */
    struct heap *active;
    struct heap *backoff;
    struct unschedulable_pods *unschedulable_pods;
    struct in_flight *in_flight;
    struct list unschedulable; /* the earliest failure first */
    struct list gated;
    size_t n_gated;
    struct list untold;        /* held pods, to be notified why */
    struct list untold_groups; /* all their held pods likewise */
    struct map *queued_groups; /* key to struct queued_group */
    size_t n_in_group;         /* pods in state QUEUE_IN_GROUP */
    size_t n_held;             /* of these, those of held groups */
    uint64_t arrivals;
    struct late_rooms *late_rooms;
    uint64_t next_event;    /* number; see queue_next_event */
    const char *event;      /* label of the event being handled */
    const char *offered_by; /* label of the last event that freed room */
    /* How many more pods get a cycle that reports that others have the room of
     * that event reserved.
     */
    unsigned n_to_tell;
};

int64_t queue_now_us(const struct queue *q);
bool queue_is_backing_off(const struct queue *q, const struct queued_pod *p);

/* Updates the profile's counts of how many pods each plugin has rejected. */
void queue_count_rejectors(struct queued_pod *p, plugin_set rejectors);

/* Removes the pod from where it is; it is in no state afterwards, which all functions below
 * expect.
 */
void queue_take_out(struct queue *q, struct queued_pod *p);

/* Notes that the pod was not activated for free room alone. */
void queue_must_run(struct queued_pod *p);

/* The pod is no longer active; its place among the unschedulable pods stays. */
void queue_unrank(const struct queue *q, struct queued_pod *p);

/* Makes the pod active unless a PreEnqueue plugin gates it. */
void queue_enter(struct queue *q, struct queued_pod *p);

/* Makes the pod gated. */
void queue_put_gated(struct queue *q, struct queued_pod *p);

/* Moves the pod as the strategy says. */
void queue_requeue(struct queue *q, struct queued_pod *p, enum wake_strategy strategy);

/* Activates the next pod of the signature group of a pod that is placed or gone. */
void queue_wake_next(struct queue *q, struct queued_pod *p);

/* Adds the pod to the order of those that compete, or removes it. Gated pods do
 * not compete.
 */
void queue_enter_order(struct queue *q, struct queued_pod *p);
void queue_leave_order(struct queue *q, struct queued_pod *p);

/* For a pod that was popped. */
void queue_begin_flight(struct queue *q, struct queued_pod *p);

/* Membership (queue_groups.c). */

/* Adds the pod to the group that the settings name, if any. */
void queue_join_group(struct queue *q, struct queued_pod *p);

/* Removes the pod from its group for good. A pod without a group may leave, too. */
void queue_leave_group(struct queue *q, struct queued_pod *p);

bool queue_has_other_group(const struct queue *q, const struct queued_pod *p,
                           const struct pod_view *pod);

/* Whether the PodGroup of the pod wants each of its pods on its own node; also for a pod
 * that is placed by itself.
 */
bool queue_goes_one_per_node(const struct queue *q, const struct queued_pod *p);

/* For a member that is in no state now. */

/* The member may be placed. */
void queue_enter_group(struct queue *q, struct queued_pod *p);

/* The member has failed, and its group with it. */
void queue_land_member(struct queue *q, struct queued_pod *p, enum wake_strategy strategy);

/* Takes back a member that had left the queue. The caller settles the group when all such
 * members have rejoined.
 */
void queue_rejoin_member(struct queue *q, struct queued_pod *p);

/* Ends a number of queue_rejoin_member. */
void queue_settle_group(struct queue *q, struct queued_group *g);

/* A member in state QUEUE_IN_GROUP has changed. */
void queue_update_member(struct queue *q, struct queued_pod *p, const struct cluster_event *event,
                         const struct object *old_object, const struct object *new_object);

/* The leader was gated. */
void queue_lose_leader(struct queue *q, struct queued_group *g);

/* The leader was popped. */
void queue_fly_group(struct queue *q, struct queued_group *g);
