/* SPDX-License-Identifier: Apache-2.0 */
/* queue_state.h - the insides of the queue, for its own files
 *
 * Called by:  queue.c (what happens to it) and queue_moves.c (how a pod gets
 *             from one state to another). Nobody else.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/base/list.h"

struct heap;
struct in_flight;
struct map;
struct unschedulable_pods;

struct queue {
    struct queue_settings settings;
    struct map *pods; /* key to struct queued_pod */
    struct heap *active;
    struct heap *backoff;
    struct unschedulable_pods *unschedulable_pods;
    struct in_flight *in_flight;
    struct list unschedulable; /* the one that failed longest ago first */
    struct list gated;
    size_t n_gated;
    uint64_t arrivals;
    const char *event; /* what the change under way comes from */
};

int64_t queue_now_us(const struct queue *q);
bool queue_is_backing_off(const struct queue *q, const struct queued_pod *p);

/* Keeps the profile's count of what each plugin has rejected. */
void queue_count_rejectors(struct queued_pod *p, plugin_set rejectors);

/* Take out: of where it is; it is in no state then, as all that follow want it.
 * Enter: to the active pods, if PreEnqueue lets it. Requeue: as the strategy
 * says. Wake next: once one of a group is placed or gone, the next has its
 * chance.
 */
void queue_take_out(struct queue *q, struct queued_pod *p);
void queue_enter(struct queue *q, struct queued_pod *p);
void queue_put_gated(struct queue *q, struct queued_pod *p);
void queue_requeue(struct queue *q,
                   struct queued_pod *p,
                   enum wake_strategy strategy);
void queue_wake_next(struct queue *q, struct queued_pod *p);
