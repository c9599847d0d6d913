/* SPDX-License-Identifier: Apache-2.0 */
/* nominator.h - the nominated pods: preemption makes room for them on a node
 *
 * A nomination is an entry of the node's ledger. The nominator finds it by the
 * pod.
 *
 * Owns:       a reference to every nominated pod. Borrows the nodes, which stay
 *             as long as there are nominations for them (cache.h).
 * Called by:  event_handlers.c and cycle_result.c (add, remove); the
 *             filter with nominated pods and preemption (look).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_view;
struct nominator;
struct pod_view;

void nominator_free(struct nominator *n);
struct nominator *nominator_new(void) OWNED_BY(nominator_free);
DEFINE_CLEANUP(struct nominator, nominator_free)

/* Nominates the pod; one that is nominated already is moved. */
void nominator_add(struct nominator *n, struct pod_view *pod, struct node_view *node);

/* Returns the node, or NULL when the pod was not nominated. */
struct node_view *nominator_remove(struct nominator *n, const struct pod_view *pod);

size_t nominator_count(const struct nominator *n);

/* Calls `visit` once for each nominated pod, with its node. */
void nominator_visit_nodes(const struct nominator *n,
                           void (*visit)(const struct node_view *node, void *context),
                           void *context);

/* Returns the node that the pod is nominated to, or NULL. */
const char *nominator_node(const struct nominator *n, const struct pod_view *pod);

/* The nominated pods of a node: 0 to ledger.n_nominated - 1, in the order of
 * nomination.
 */
struct pod_view *nominator_pod(const struct node_view *node, uint32_t at);

/* Whether the nominated pod's room is kept free when `pod` is filtered: it is
 * another pod, and its priority is not lower.
 */
bool nominator_counts(const struct pod_view *nominated, const struct pod_view *pod);
