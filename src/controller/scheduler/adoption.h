/* SPDX-License-Identifier: Apache-2.0 */
/* adoption.h - pods that were bound without an allocation
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

struct adoption;
struct cache;
struct client;
struct clock;
struct pod_view;

void adoption_free(struct adoption *a);
struct adoption *adoption_new(struct client *client,
                              struct clock *clock,
                              struct cache *cache) OWNED_BY(adoption_free);
DEFINE_CLEANUP(struct adoption, adoption_free)

/* Add: a pod on a node, if it needs to be adopted; a node without a topology
 * gives no allocations. Add node: it came, or has another topology. Forget:
 * the pod is gone. Run: tries all that wait; call it when everything is known,
 * and now and then.
 */
void adoption_add(struct adoption *a, struct pod_view *pod);
void adoption_add_node(struct adoption *a, const char *node_name);
void adoption_forget(struct adoption *a, const struct pod_view *pod);
void adoption_run(struct adoption *a);
