/* SPDX-License-Identifier: Apache-2.0 */
/* queue_order.h - how many pods are before a pod, of all that wait
 *
 * The pods of the queue in the order of its QueueSort plugin, whatever their
 * state, in blocks of some hundred: most come as the last and go as the first,
 * which costs two comparisons.
 *
 * Called by:  the queue alone.
 * Thread:     the scheduler's.
 * Invariant:  a pod that is in the order does not change in what it is sorted
 *             by.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct queued_pod;
struct queue_order;

/* Whether `a` is before `b`; never both, and of different pods one is. */
typedef bool queue_order_less_fn(const void *a, const void *b, void *context);

/* Life */
void queue_order_free(struct queue_order *o);
struct queue_order *queue_order_new(queue_order_less_fn *less, void *context)
    OWNED_BY(queue_order_free);
DEFINE_CLEANUP(struct queue_order, queue_order_free)

/* Change. Remove: of one that is there. */
void queue_order_add(struct queue_order *o, struct queued_pod *pod);
void queue_order_remove(struct queue_order *o, struct queued_pod *pod);

/* Look. Before: how many are before the pod, be it there or not. */
size_t queue_order_before(const struct queue_order *o,
                          const struct queued_pod *pod);

/* Visits the pods in their order, until the visitor returns false. */
typedef bool queue_order_visit_fn(struct queued_pod *pod, void *context);
void queue_order_visit(const struct queue_order *o,
                       queue_order_visit_fn *visit,
                       void *context);

/* The first that is wanted of those before the pod (NULL: of all), or NULL. Only
 * some thousand are looked at.
 */
struct queued_pod *queue_order_first(
    const struct queue_order *o,
    const struct queued_pod *before,
    bool (*is_wanted)(const struct queued_pod *pod, void *context),
    void *context);
