/* SPDX-License-Identifier: Apache-2.0 */
/* retained_allocations.h - pods that the API no longer has but their nodes do
 *
 * A pod that was deleted by force, or given up by fencing, leaves an entry in
 * its node's status.remnants until its process is gone. In the ledger of the
 * node it is an entry of its own, under the uid of the pod, and holds what the
 * pod held. It is not a pod, so no pod can preempt it.
 *
 * Thread: the scheduler's.
 */
#pragma once

struct cache;
struct object;
struct queue;

/* The cache keeps the entries; the queue gets an event when one has ended. */
struct retained_allocations {
    struct cache *cache;
    struct queue *queue;
};

/* The node reports more or fewer remnants. Either node may be NULL. */
void retained_allocations_sync(const struct retained_allocations *r, const struct object *old_node,
                               const struct object *new_node);

/* The pod is no longer in the API; it may have been deleted by force. */
void retained_allocations_keep(const struct retained_allocations *r, const struct object *pod);
