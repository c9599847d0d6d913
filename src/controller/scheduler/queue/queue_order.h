/* SPDX-License-Identifier: Apache-2.0 */
/* queue_order.h - how many of the waiting pods come before a pod
 *
 * The pods of the queue in the order of its QueueSort plugin, in any state but
 * gated, in blocks of some hundred. Most pods are added at the end and removed
 * from the front, which costs two comparisons.
 *
 * Called by:  the queue; cursors by forecast_input.c, too.
 * Thread:     the scheduler's.
 * Invariant:  what a pod is sorted by does not change while the pod is in the
 *             order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct queued_pod;
struct queue_order;

/* Whether `a` comes before `b`. Of two different pods exactly one comes first.
 */
typedef bool queue_order_less_fn(const void *a, const void *b, void *context);

/* Life */
void queue_order_free(struct queue_order *o);
struct queue_order *queue_order_new(queue_order_less_fn *less, void *context)
    OWNED_BY(queue_order_free);
DEFINE_CLEANUP(struct queue_order, queue_order_free)

/* Remove: the pod must be in the order. */
void queue_order_add(struct queue_order *o, struct queued_pod *pod);
void queue_order_remove(struct queue_order *o, struct queued_pod *pod);

/* Before: how many pods come before the pod, which need not be in the
 * order.
 */
size_t queue_order_before(const struct queue_order *o, const struct queued_pod *pod);

/* A place in the order, for a visit in parts. It stays where it is while pods
 * are added and removed: next returns each pod that is in the order all the
 * time once, and those that are added behind the place. A pod that is removed
 * and added again may come twice, or, if it is added before the place, not at
 * all. NULL: there is no further pod. End before the order is freed.
 */
struct queue_cursor {
    struct list link;
    struct queue_order *order; /* NULL: it has ended */
    size_t block;
    unsigned place; /* may be the end of the block */
};
void queue_order_begin(struct queue_order *o, struct queue_cursor *cursor);
struct queued_pod *queue_order_next(struct queue_cursor *cursor);
void queue_order_end(struct queue_cursor *cursor);

/* The first wanted pod of those before `before` (NULL: of all), or NULL. Only
 * the first few thousand pods are checked.
 */
struct queued_pod *queue_order_first(const struct queue_order *o, const struct queued_pod *before,
                                     bool (*is_wanted)(const struct queued_pod *pod, void *context),
                                     void *context);
