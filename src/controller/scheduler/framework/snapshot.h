/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - the nodes as a cycle sees them, in the order it tries them
 *
 * A list of what the cache holds, not a copy: the cache changes only between
 * cycles, on the same thread. Brought up to date at the start of each cycle,
 * at the cost of what has changed.
 *
 * Order: zone by zone in turn (kube-scheduler, nodeTree), so that looking at
 * some of the nodes still looks at every zone.
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
    uint64_t removal_generation; /* when a node last went */
    uint32_t n_slots;            /* slots of nodes are below this */
    const struct list *recent;   /* node_view.recent, the latest first */
    const struct map *by_name;   /* to struct node_view */
    const struct map *claims;    /* "namespace/name": pods that use it */
};

/* The node of that name, or NULL. */
struct node_view *snapshot_find(const struct snapshot *s, const char *name);

/* Pods on nodes that use a claim of storage. */
unsigned snapshot_claim_users(const struct snapshot *s,
                              const char *namespace,
                              const char *name);

/* How many nodes have changed since that generation; `most` is enough. */
unsigned
snapshot_changed(const struct snapshot *s, uint64_t generation, unsigned most);
