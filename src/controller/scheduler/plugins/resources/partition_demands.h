/* SPDX-License-Identifier: Apache-2.0 */
/* partition_demands.h - what a pod demands of a node, by its partitions
 *
 * A pod that names a partition whose nodes have one pod each demands a whole
 * node there (pod_view.h: whole_demand), but not in its other partitions.
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>

struct demand;
struct handle;
struct node_view;
struct object;
struct pod_view;

/* In the order in which to try them: the first that fits is the pod's. Without
 * a node, the smaller one.
 */
struct partition_demands {
    const struct demand *items[2]; /* borrowed from the pod */
    unsigned count;
};

void partition_demands_find(const struct handle *handle, const struct pod_view *pod,
                            const struct node_view *node, struct partition_demands *ret_demands);

/* Hints (plugin.h): whether the pod may need less of a node because the node is
 * in other partitions now, or because a partition has changed.
 */
bool partition_demands_of_node_changed(void *self, const struct pod_view *pod,
                                       const struct object *old_node,
                                       const struct object *new_node);
bool partition_demands_changed(void *self, const struct pod_view *pod,
                               const struct object *old_partition,
                               const struct object *new_partition);
