/* SPDX-License-Identifier: Apache-2.0 */
/* node_view.h - a node as plugins see it: its resources and the pods on it
 *
 * Owns:       references to its object and its pods; its occupancy.
 * Called by:  the cache, which alone makes permanent changes; preemption and
 *             the filter with nominated pods change it within a journal.
 * Thread:     the scheduler's.
 * Invariant:  the ledger has one entry for each pod and for each retained
 *             allocation. The generation grows with every change outside a
 *             journal and is unique among nodes.
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

/* The label bits of the pods (selector.h) lie side by side, so that a search
 * passes over most pods of a cluster without reading the pods from memory.
 */
struct pod_list {
    struct pod_view **items;
    uint64_t *label_bits;
    uint32_t count, capacity;
};

/* An allocation that remains on the node although its pod is gone from the API.
 * It is not a pod: nothing preempts it, and affinity ignores it.
 */
struct retained_allocation {
    char *uid; /* of the pod */
    struct node_view *node;
    struct amounts requests;
    struct holding *holding; /* NULL: no exact cores, memory, devices */
    struct list link;
};

struct node_view {
    uint64_t generation;
    uint32_t slot; /* index into arrays of nodes; stable, reused */
    bool is_unschedulable;
    bool has_taints;
    bool is_closed;         /* to the pod that is being placed (cache.h) */
    uint16_t place;         /* 0 to 999, a hash of the name: a stable order */
    uint32_t n_soft_taints; /* with effect PreferNoSchedule */
    int64_t allowed_pods;
    struct amounts allocatable;
    struct ledger ledger;    /* who holds what, and what is free */
    const struct node *node; /* NULL: deleted, but pods are left on it */
    const struct object *object;
    char *name;
    struct pod_list pods;
    struct list retained;    /* struct retained_allocation */
    int64_t lowest_priority; /* of its pods; INT64_MAX: no pods */
    struct pod_list with_affinity;
    struct pod_list with_required_anti_affinity;
    struct list recent;       /* the cache's list: latest change first */
    bool is_counted_affinity; /* the cache's: counted in the snapshot */
    bool is_counted_anti_affinity;
    struct list closed; /* the cache's, of all that are closed */
};

/* Life: a new view has no object and no pods. It borrows the journal (NULL:
 * there is never a what-if on it).
 */
void node_view_free(struct node_view *v);
struct node_view *node_view_new(const char *name, struct journal *journal) OWNED_BY(node_view_free);
DEFINE_CLEANUP(struct node_view, node_view_free)

/* Object NULL: the node was deleted. A topology that cannot be read
 * counts as none and is logged. Remove: false when the pod was not there.
 * Inside a journal, adding and removing pods can be undone.
 */
void node_view_set_object(struct node_view *v, const struct object *object,
                          struct string_ids *resources, struct topology_cache *topologies);
void node_view_add_pod(struct node_view *v, struct pod_view *pod, enum ledger_state state);
bool node_view_remove_pod(struct node_view *v, const struct pod_view *pod);

/* Replaces the pod by its newer version, for example after a change of status.
 * False, with nothing done, when the change affects what is free on the node or
 * which pods it matters to; the caller must then remove the pod and add it
 * again.
 */
bool node_view_replace_pod(struct node_view *v, struct pod_view *pod);

/* Within a journal: yielded pods of lower priority lend their cores to the pod.
 * False: there are none, or the pod does not ask for exclusive cores.
 */
bool node_view_lend_to(struct node_view *v, const struct pod_view *pod);

/* Adds an allocation that the node reports as left over from the pod `uid`. */
void node_view_release(struct retained_allocation *retained);
struct retained_allocation *node_view_retain(struct node_view *v, const char *uid,
                                             const struct remnant *remnant,
                                             struct string_ids *resources)
    OWNED_BY(node_view_release);
