/* SPDX-License-Identifier: Apache-2.0 */
/* node_verdict.h - what to write about a node that is silent, back, or fenced
 *
 * Pure functions: each returns the merge patch to send, in the arena, or NULL
 * when the object is up to date. See node_health.h for the rules.
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

/* Ready=Unknown for a silent node. A node with heartbeats reports its own
 * status, so NULL.
 */
struct json *node_verdict_status(struct arena *arena, const struct node *node, bool silent,
                                 int64_t now_us);

/* The taints unreachable (if silent) and not-ready (if not silent and Ready is
 * not True), each as NoSchedule and NoExecute, and NoSchedule taints for a
 * failed hook, a failed check and missing hardware. The patch adds missing ones
 * and removes those that no longer apply.
 */
struct json *node_verdict_taints(struct arena *arena, const struct node *node, bool silent,
                                 int64_t now_us);

/* The hardware expected of the node, as first seen or when it grew (see
 * lib/api/node/node_hardware.h).
 */
struct json *node_verdict_hardware(struct arena *arena, const struct node *node);

/* The patch that fences the node; NULL: it is fenced. */
struct json *node_verdict_fence(struct arena *arena, const struct node *node, int64_t now_us);

/* Removes status.remnants of a fenced node: no processes of its pods are left.
 */
struct json *node_verdict_remnants(struct arena *arena, const struct node *node);

/* How long until a pod of a silent node has certainly been ended by its node:
 * fenceAfterSeconds and FENCE_MARGIN_S after the last heartbeat. 0: the time
 * has passed; -1: the pod has no fenceAfterSeconds, or the node is not silent.
 * silent_us: time since the last heartbeat; 0: the node is not silent.
 */
#define FENCE_MARGIN_S 10
int64_t node_verdict_fence_left_us(const struct pod *pod, int64_t silent_us);

/* Unknown for a running pod of a silent node; Failed, with the condition
 * DisruptionTarget, for a pod of a fenced node or one that its node has ended
 * by fenceAfterSeconds. `node` NULL: the node was deleted.
 */
struct json *node_verdict_pod(struct arena *arena, const struct node *node, const struct pod *pod,
                              int64_t silent_us, int64_t now_us);
