/* SPDX-License-Identifier: Apache-2.0 */
/* node_verdict.h - what to write about a node that is silent, back, or fenced
 *
 * Pure functions: each answers the merge patch that is wanted, in the arena,
 * or NULL when what stands there is right. See node_health.h for the rules.
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

/* Nothing is left of pods on a fenced node. */
struct json *node_verdict_remnants(struct arena *arena,
                                   const struct node *node);

/* Unknown for a running pod of a silent node, Failed for one of a fenced node,
 * with the condition DisruptionTarget. `node` NULL: the node was deleted.
 */
struct json *node_verdict_pod(struct arena *arena,
                              const struct node *node,
                              const struct pod *pod,
                              bool silent,
                              int64_t now_us);
