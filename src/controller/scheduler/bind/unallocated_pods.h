/* SPDX-License-Identifier: Apache-2.0 */
/* unallocated_pods.h - pods that were bound without an allocation
 *
 * A client has set spec.nodeName, or has bound the pod without the scheduler.
 * The agent starts no pod without an allocation, so such a pod gets one on its
 * node, by another binding, or is refused: it is marked Failed with the reason.
 * A pod is also refused if its node does not exist and does not register within
 * a time.
 *
 * Owns:    references to the pods that still wait for an allocation.
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
struct unallocated_pods *unallocated_pods_new(struct client *client, struct clock *clock,
                                              struct cache *cache) OWNED_BY(unallocated_pods_free);
DEFINE_CLEANUP(struct unallocated_pods, unallocated_pods_free)

/* Adds a pod on a node, unless it needs no allocation; a node without a topology gives none. */
void unallocated_pods_add(struct unallocated_pods *a, struct pod_view *pod);

/* The node was added, or has another topology. */
void unallocated_pods_add_node(struct unallocated_pods *a, const char *node_name);

/* The pod is gone. */
void unallocated_pods_forget(struct unallocated_pods *a, const struct pod_view *pod);

/* Tries all pods that wait; to be called when the cluster is known, and periodically. */
void unallocated_pods_retry(struct unallocated_pods *a);
