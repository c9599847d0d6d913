/* SPDX-License-Identifier: Apache-2.0 */
/* node_view.h - a node as the plugins see it: what it has, who is on it
 *
 * Owns:       references to its object and its pods; its occupancy.
 * Called by:  the cache, which alone changes it for good; preemption and the
 *             filter with nominated pods change it within a journal.
 * Thread:     the scheduler's.
 * Invariant:  the ledger has one entry for each pod and for each retained
 *             allocation. The generation rises with
 *             every change outside of a journal and is unique among nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/amounts.h"
#include "controller/scheduler/framework/ledger.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct string_ids;
struct holding;
struct node;
struct object;
struct remnant;
struct pod_view;
struct topology_cache;

/* The bits of their labels (selector.h) stand side by side: most pods of a
 * cluster are passed over by them, and not one is read from the memory.
 */
struct pod_list {
    struct pod_view **items;
    uint64_t *label_bits;
    uint32_t count, capacity;
};

/* An allocation of a pod that the API has forgotten, and its node has not. It
 * is no pod: nothing preempts it, and no affinity sees it.
 */
struct retained_allocation {
    char *uid; /* of the pod */
    struct node_view *node;
    struct amounts requests;
    struct holding *holding; /* NULL: nothing exact */
    struct list link;
};

struct node_view {
    uint64_t generation;
    uint32_t slot; /* its place in arrays by node; stable, reused */
    bool is_unschedulable;
    bool has_taints;
    uint16_t place;         /* 0 to 999, in an order that is always the same */
    uint32_t n_soft_taints; /* PreferNoSchedule */
    int64_t allowed_pods;
    struct amounts allocatable;
    struct ledger ledger;    /* who holds what of it, and what is free */
    const struct node *node; /* NULL: gone, but pods are still there */
    const struct object *object;
    char *name;
    struct pod_list pods;
    struct list retained;    /* struct retained_allocation */
    int64_t lowest_priority; /* of its pods; INT64_MAX: there are none */
    struct pod_list with_affinity;
    struct pod_list with_required_anti_affinity;
    struct list recent;       /* the cache's: latest change first */
    bool is_counted_affinity; /* the cache's: in the snapshot's numbers */
    bool is_counted_anti_affinity;
};

/* Life: without an object and pods. Borrows the journal (NULL: nothing is tried
 * out on it).
 */
void node_view_free(struct node_view *v);
struct node_view *node_view_new(const char *name, struct journal *journal)
    OWNED_BY(node_view_free);
DEFINE_CLEANUP(struct node_view, node_view_free)

/* Change. Object NULL: the node is gone. A topology that cannot be read is
 * as none (said in the log). Remove: false when the pod was not there. Adding
 * and removing pods inside a journal is undone with it.
 */
void node_view_set_object(struct node_view *v,
                          const struct object *object,
                          struct string_ids *resources,
                          struct topology_cache *topologies);
void node_view_add_pod(struct node_view *v,
                       struct pod_view *pod,
                       enum ledger_state state);
bool node_view_remove_pod(struct node_view *v, const struct pod_view *pod);

/* The pod is known anew (its status changed, say). False when that changes what
 * is free here, or for whom it counts: then nothing was done, and it must be
 * removed and added.
 */
bool node_view_replace_pod(struct node_view *v, struct pod_view *pod);

/* Within a journal: those that stand still and are less important lend the pod
 * their cores. False: there are none, or it would not have cores of its own.
 */
bool node_view_lend_to(struct node_view *v, const struct pod_view *pod);

/* Adds an allocation that the node says is left of the pod with that uid. */
void node_view_release(struct retained_allocation *retained);
struct retained_allocation *node_view_retain(struct node_view *v,
                                             const char *uid,
                                             const struct remnant *remnant,
                                             struct string_ids *resources)
    OWNED_BY(node_view_release);
