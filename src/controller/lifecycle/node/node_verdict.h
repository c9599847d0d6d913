/* SPDX-License-Identifier: Apache-2.0 */
/* node_verdict.h - what to write about a node that is silent, back, or fenced
 *
 * Pure functions: each answers the merge patch that is wanted, in the arena,
 * or NULL when what stands there is right. See node_health.h for the rules.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json;
struct node;
struct pod;

/* Ready=Unknown for a silent node; what is heard speaks for itself. */
struct json *node_verdict_status(struct arena *arena,
                                 const struct node *node,
                                 bool silent,
                                 int64_t now_us);

/* The taints unreachable (silent) and not-ready (Ready is False), each as
 * NoSchedule and NoExecute, present exactly when they should be.
 */
struct json *node_verdict_taints(struct arena *arena,
                                 const struct node *node,
                                 bool silent,
                                 int64_t now_us);

/* The hardware that is expected of the node, learnt or raised (see
 * lib/api/node/node_hardware.h).
 */
struct json *node_verdict_hardware(struct arena *arena,
                                   const struct node *node);

/* Nothing is left of pods on a fenced node. */
struct json *node_verdict_remnants(struct arena *arena,
                                   const struct node *node);

/* silent_us: since a silent node was last heard of; 0 for another one. A pod of
 * a silent node that fences itself has done so FENCE_MARGIN_S after its time;
 * fence_left: how long until that, 0 when it is over, -1 when it never is.
 */
#define FENCE_MARGIN_S 10
int64_t node_verdict_fence_left_us(const struct pod *pod, int64_t silent_us);

/* Unknown for a running pod of a silent node, Failed for one of a fenced node
 * or one that has fenced itself, with the condition DisruptionTarget. `node`
 * NULL: the node was deleted.
 */
struct json *node_verdict_pod(struct arena *arena,
                              const struct node *node,
                              const struct pod *pod,
                              int64_t silent_us,
                              int64_t now_us);
