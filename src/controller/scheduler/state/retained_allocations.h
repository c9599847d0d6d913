/* SPDX-License-Identifier: Apache-2.0 */
/* retained_allocations.h - pods that the API has forgotten and whose nodes have
 * not
 *
 * A pod that was deleted by force, or given up by fencing, leaves its entry in
 * its node's status.remnants until its process is gone. In the ledger of the
 * node it is an entry of its own, which holds what the pod held, under the uid
 * that it had. It is no pod, so nothing preempts it.
 *
 * Thread: the scheduler's.
 */
#pragma once

struct cache;
struct object;
struct queue;

/* Where those pods are kept, and who is told when one has ended. */
struct retained_allocations {
    struct cache *cache;
    struct queue *queue;
};

/* The node says that more is left, or less. Either may be NULL. */
void retained_allocations_sync(const struct retained_allocations *p,
                               const struct object *old_node,
                               const struct object *new_node);

/* The pod has gone from the API, perhaps by force. */
void retained_allocations_keep(const struct retained_allocations *p,
                               const struct object *pod);
