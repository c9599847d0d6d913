/* SPDX-License-Identifier: Apache-2.0 */
/* nominator.h - waiting pods for which room is being made on a node
 *
 * A nomination is an entry of the node's ledger; here it is
 * found by its pod.
 *
 * Owns:       a reference to every nominated pod. Borrows the nodes, which stay
 *             as long as there are nominations for them (cache.h).
 * Called by:  the queue and the informers (add, remove), the two-pass filter
 *             and preemption (look).
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

/* Change. Adding moves a pod that is nominated already. Remove: the node, or NULL
 * where the pod was not nominated.
 */
void nominator_add(struct nominator *n,
                   struct pod_view *pod,
                   struct node_view *node);
struct node_view *nominator_remove(struct nominator *n,
                                   const struct pod_view *pod);

/* Look. Node: where the pod is nominated, or NULL. Visit: once for each pod. */
size_t nominator_count(const struct nominator *n);
void nominator_visit_nodes(const struct nominator *n,
                           void (*visit)(const struct node_view *node,
                                         void *context),
                           void *context);
const char *nominator_node(const struct nominator *n,
                           const struct pod_view *pod);

/* Those of a node are ledger.n_nominated, in the order of their nomination. */
struct pod_view *nominator_pod(const struct node_view *node, uint32_t at);

/* Whether room is kept from `pod` for the nominated one: it is another, and
 * not less important.
 */
bool nominator_counts(const struct pod_view *nominated,
                      const struct pod_view *pod);
