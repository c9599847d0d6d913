/* SPDX-License-Identifier: Apache-2.0 */
/* pod_groups.h - the PodGroups, and how many of their pods have had a node
 *
 * The terms of a waiting pod (queued_group.h) follow from its PodGroup and from
 * the other pods that name it: pods that have a node, or that have succeeded,
 * count. Only pods and groups of the same owner belong together.
 *
 * Owns:    references to the groups and to the waiting pods that name one.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct group_terms;
struct object;
struct pod_groups;

/* Life */
void pod_groups_free(struct pod_groups *g);
struct pod_groups *pod_groups_new(void) OWNED_BY(pod_groups_free);

/* NULL as old: it is new; NULL as new: it is gone. Waits: the pod is to
 * be placed.
 */
void pod_groups_changed(struct pod_groups *g, const struct object *old_group,
                        const struct object *new_group);
void pod_groups_pod_changed(struct pod_groups *g, const struct object *old_pod,
                            const struct object *new_pod, bool waits);

/* Returns the terms of a pod that waits. */
void pod_groups_terms(const struct pod_groups *g, const struct object *pod,
                      struct group_terms *ret_terms);
/* Whether the pod is of a group of which several pods are placed together. */
bool pod_groups_is_gang(const struct pod_groups *g, const struct object *pod);
/* Whether the PodGroup of the pod wants each of its pods on its own node. */
bool pod_groups_goes_one_per_node(const struct pod_groups *g, const struct object *pod);
/* Whether the pod has a node and will not start before other pods of its group have one. */
bool pod_groups_holds_up(const struct pod_groups *g, const struct object *pod);

bool pod_groups_ends_together(const struct pod_groups *g, const struct object *pod);
/* Pods that have ended and count. */

/* Calls `each` once for the waiting pods of a group and owner that have some, with one of
 * these pods.
 */
void pod_groups_visit_ended(const struct pod_groups *g,
                            void (*each)(const struct object *waiting, unsigned count,
                                         void *context),
                            void *context);

/* So many pods of the group and owner of that pod have ended, which is not known by their
 * objects.
 */
void pod_groups_add_ended(struct pod_groups *g, const struct object *pod, unsigned count);

/* How many switches its nodes may have, since when it waits for that, and for how long;
 * wait -1: as long as is allowed. False: any number.
 */
struct group_switches {
    int64_t most, since_us, wait_us;
};
bool pod_groups_switches(const struct pod_groups *g, const struct object *pod,
                         struct group_switches *ret);

/* The label that its nodes share (pod_group.h); NULL: none. Valid until it changes. */
const char *pod_groups_topology_key(const struct pod_groups *g, const struct object *pod);
bool pod_groups_have_changed(const struct pod_groups *g);
void pod_groups_visit_changed(struct pod_groups *g,
                              void (*each)(const struct object *pod, void *context), void *context);
