/* SPDX-License-Identifier: Apache-2.0 */
/* nominator.h - waiting pods for which room is being made on a node
 *
 * Owns:       a reference to every nominated pod.
 * Called by:  the queue and the informers (add, remove), the two-pass filter
 *             and preemption (look).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct nominator;
struct pod_view;

void nominator_free(struct nominator *n);
struct nominator *nominator_new(void) OWNED_BY(nominator_free);
DEFINE_CLEANUP(struct nominator, nominator_free)

/* Change. Adding moves a pod that is nominated already. */
void
nominator_add(struct nominator *n, struct pod_view *pod, const char *node_name);
void nominator_remove(struct nominator *n, const struct pod_view *pod);

/* Look. Node: where the pod is nominated, or NULL. Pods: those of a node, in
 * the order of their nomination.
 */
size_t nominator_count(const struct nominator *n);
void nominator_visit_nodes(const struct nominator *n,
                           void (*visit)(const char *node_name, void *context),
                           void *context);
const char *nominator_node(const struct nominator *n,
                           const struct pod_view *pod);
struct pod_view *const *nominator_pods(const struct nominator *n,
                                       const char *node_name,
                                       size_t *ret_count);

/* Whether room is kept from `pod` for the nominated one: it is another, and
 * not less important.
 */
bool nominator_counts(const struct pod_view *nominated,
                      const struct pod_view *pod);
