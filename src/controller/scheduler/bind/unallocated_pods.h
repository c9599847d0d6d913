/* SPDX-License-Identifier: Apache-2.0 */
/* unallocated_pods.h - pods that were bound without an allocation
 *
 * Somebody set spec.nodeName, or bound the pod past the scheduler. The agent
 * starts nothing without an allocation, so such a pod is given one on its
 * node, by its binding again, or is refused: marked Failed with the reason. So
 * is one whose node is not there and does not come for a while.
 *
 * Owns:    references to those that still wait for it.
 * Thread:  the scheduler's.
 */
#pragma once

#include "lib/base/macro.h"

struct unallocated_pods;
struct cache;
struct client;
struct clock;
struct pod_view;

void unallocated_pods_free(struct unallocated_pods *a);
struct unallocated_pods *unallocated_pods_new(struct client *client,
                                              struct clock *clock,
                                              struct cache *cache)
    OWNED_BY(unallocated_pods_free);
DEFINE_CLEANUP(struct unallocated_pods, unallocated_pods_free)

/* Add: a pod on a node, if it needs to be adopted; a node without a topology
 * gives no allocations. Add node: it came, or has another topology. Forget:
 * the pod is gone. Run: tries all that wait; call it when everything is known,
 * and now and then.
 */
void unallocated_pods_add(struct unallocated_pods *a, struct pod_view *pod);
void unallocated_pods_add_node(struct unallocated_pods *a,
                               const char *node_name);
void unallocated_pods_forget(struct unallocated_pods *a,
                             const struct pod_view *pod);
void unallocated_pods_retry(struct unallocated_pods *a);
