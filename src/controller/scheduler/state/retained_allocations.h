/* SPDX-License-Identifier: Apache-2.0 */
/* retained_allocations.h - pods that the API has forgotten and whose nodes have
 * not
 *
 * A pod deleted by force leaves its entry in its node's status.remnants until
 * its process is gone. In the cache it is a pod that is being deleted, which
 * holds what it held, under the uid that it had; nothing preempts it.
 *
 * Thread: the scheduler's.
 */
#pragma once

struct cache;
struct string_ids;
struct object;
struct queue;

/* Where those pods are kept, and who is told when one has ended. */
struct retained_allocations {
    struct cache *cache;
    struct queue *queue;
    struct string_ids *resources;
};

/* The node says that more is left, or less. Either may be NULL. */
void retained_allocations_sync(const struct retained_allocations *p,
                               const struct object *old_node,
                               const struct object *new_node);

/* The pod has gone from the API, perhaps by force. */
void retained_allocations_keep(const struct retained_allocations *p,
                               const struct object *pod);
