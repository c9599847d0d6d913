/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - the nodes in the order in which a cycle tries them
 *
 * It points to the cache's nodes and copies nothing, because the cache changes
 * only between cycles, on the same thread. It is updated at the start of each
 * cycle, at a cost that depends on how much has changed.
 *
 * Order: one node of each zone in turn (kube-scheduler, nodeTree), so that a
 *        search of only some of the nodes still covers every zone.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct map;
struct node_view;

struct snapshot {
    struct node_view **nodes; /* those that exist, in order */
    uint32_t n_nodes;
    uint32_t n_with_affinity; /* nodes that have pods with pod affinity */
    uint32_t n_with_required_anti_affinity;
    uint64_t generation;         /* of the latest change in it */
    uint64_t removal_generation; /* when a node was last removed */
    uint32_t n_slots;            /* every node's slot is below this */
    const struct list *recent;   /* node_view.recent, the latest first */
    const struct map *by_name;   /* to struct node_view */
    const struct map *claims;    /* "namespace/name" to number of users */
};

struct node_view *snapshot_find(const struct snapshot *s, const char *name);

/* The number of pods on nodes that use a PersistentVolumeClaim. */
unsigned snapshot_claim_users(const struct snapshot *s, const char *namespace, const char *name);

/* The number of nodes that changed after that generation, counted up to `most`.
 */
unsigned snapshot_changed(const struct snapshot *s, uint64_t generation, unsigned most);
