/* SPDX-License-Identifier: Apache-2.0 */
/* queue_state.h - the insides of the queue, for its own files
 *
 * Called by:  queue.c (what happens to it), queue_moves.c (how a pod gets
 *             from one state to another) and queue_groups.c (how those of a
 *             group do). Nobody else.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/base/list.h"

struct heap;
struct in_flight;
struct item_map;
struct late_rooms;
struct map;
struct pod_group;
struct queue_order;
struct unschedulable_pods;
struct waiting_jobs;

struct queue {
    struct queue_settings settings;
    struct item_map *pods;     /* by their keys */
    struct waiting_jobs *jobs; /* the same, by Job */
    struct queue_order *order; /* the same, but for gated ones */
    struct heap *active;
    struct heap *backoff;
    struct unschedulable_pods *unschedulable_pods;
    struct in_flight *in_flight;
    struct list unschedulable; /* the one that failed longest ago first */
    struct list gated;
    size_t n_gated;
    struct list untold;        /* held pods that are to be told why */
    struct list untold_groups; /* of which all held pods are */
    struct map *pod_groups;    /* key to struct pod_group */
    size_t n_in_group;         /* pods in that state */
    size_t n_held;             /* of them: their group is held */
    uint64_t arrivals;
    struct late_rooms *late_rooms;
    uint64_t next_event;    /* that may free room; of reservations none does */
    const char *event;      /* what the change under way comes from */
    const char *offered_by; /* the event that room came with last */
    unsigned n_to_tell;     /* pods that are kept off its room, still */
};

int64_t queue_now_us(const struct queue *q);
bool queue_is_backing_off(const struct queue *q, const struct queued_pod *p);

/* Keeps the profile's count of what each plugin has rejected. */
void queue_count_rejectors(struct queued_pod *p, plugin_set rejectors);

/* Take out: of where it is; it is in no state then, as all that follow want it.
 * Unrank: it is active no more; its place among sleeping pods stays.
 * Enter: to the active pods, if PreEnqueue lets it. Requeue: as the strategy
 * says. Must run: it was not woken for room alone. Wake next: once one of a group is placed or gone, the next has its
 * chance.
 */
void queue_take_out(struct queue *q, struct queued_pod *p);
void queue_must_run(struct queued_pod *p);
void queue_unrank(const struct queue *q, struct queued_pod *p);
void queue_enter(struct queue *q, struct queued_pod *p);
void queue_put_gated(struct queue *q, struct queued_pod *p);
void queue_requeue(struct queue *q,
                   struct queued_pod *p,
                   enum wake_strategy strategy);
void queue_wake_next(struct queue *q, struct queued_pod *p);

/* Among the pods that compete, or not: gated ones do not. */
void queue_enter_order(struct queue *q, struct queued_pod *p);
void queue_leave_order(struct queue *q, struct queued_pod *p);

/* A pod that was popped. */
void queue_begin_flight(struct queue *q, struct queued_pod *p);

/* Membership (queue_groups.c). Join: the group that the settings say the pod is
 * of, if any. Leave: for good; also one that is of none.
 */
void queue_join_group(struct queue *q, struct queued_pod *p);
void queue_leave_group(struct queue *q, struct queued_pod *p);
bool queue_has_other_group(const struct queue *q,
                           const struct queued_pod *p,
                           const struct pod_view *pod);

/* Of a member, in no state now. Enter: it may be placed. Land: it has failed,
 * and the group with it. Rejoin: it had left the queue; settle follows when all
 * have.
 */
void queue_enter_group(struct queue *q, struct queued_pod *p);
void queue_land_member(struct queue *q,
                       struct queued_pod *p,
                       enum wake_strategy strategy);
void queue_rejoin_member(struct queue *q, struct queued_pod *p);
void queue_settle_group(struct queue *q, struct pod_group *g);

/* Update: of one in state QUEUE_IN_GROUP. Lose leader: it is gated. Fly: the
 * leader was popped.
 */
void queue_update_member(struct queue *q,
                         struct queued_pod *p,
                         const struct cluster_event *event,
                         const struct object *old_object,
                         const struct object *new_object);
void queue_lose_leader(struct queue *q, struct pod_group *g);
void queue_fly_group(struct queue *q, struct pod_group *g);
