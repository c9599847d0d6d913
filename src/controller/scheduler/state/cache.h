/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - what every node has and which pods are on it, including assumed
 * ones
 *
 * A pod is *assumed* on a node as soon as the node is chosen, so that the next
 * cycle sees its exact cores as taken while the binding is under way. Later the
 * API confirms the pod there, or the scheduler forgets it. Pods that are being
 * deleted keep what they hold until the API reports that they are gone.
 *
 * Owns:       the views of all nodes, and of the pods on them.
 * Called by:  the cycle (assume, forget, snapshot) and the informers (the
 *             rest).
 * Thread:     the scheduler's.
 * Invariant:  a pod is on at most one node. Only an assumed pod can be
 *             forgotten or expire.
 *
 * Source: kube-scheduler, backend/cache/cache.go and node_tree.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cache;
struct clock;
struct holding;
struct string_ids;
struct node_view;
struct object;
struct pod_view;
struct remnant;
struct snapshot;

struct cache_settings {
    struct clock *clock;
    struct string_ids *resources;
    int64_t expire_us; /* of assumed, bound pods; 0: never */
};

/* Life */
void cache_free(struct cache *cache);
struct cache *cache_new(const struct cache_settings *settings) OWNED_BY(cache_free);
DEFINE_CLEANUP(struct cache, cache_free)

/* Nodes. Set adds or updates one. A removed node stays as long as pods are on
 * it, but snapshots do not contain it.
 */
void cache_set_node(struct cache *cache, const struct object *node);
void cache_remove_node(struct cache *cache, const char *name);

/* Returns the node, also one that the API does not have, for a nomination. */
struct node_view *cache_make_node(struct cache *cache, const char *name);

/* The nomination has ended; this may free the node. */
void cache_leave_node(struct cache *cache, struct node_view *node);

/* Assumed pods. */

/* Returns -EEXIST if the pod is on a node already, -ENOENT if there is no such node. */
int cache_assume(struct cache *cache, struct pod_view *pod, const char *node_name);

/* Sets what the pod holds on its node. */
void cache_hold(struct cache *cache, struct pod_view *pod, struct holding *holding TAKES);

/* The pod's binding is written; it waits for the API to confirm it. */
void cache_finish_binding(struct cache *cache, const struct pod_view *pod);

/* Takes the pod off its node. False: it was not assumed. */
bool cache_forget(struct cache *cache, const struct pod_view *pod);

/* Trial placements. Keep or roll back the pods that were assumed after begin,
 * with their holdings. After a roll back the nodes are as they were before,
 * except for their generations. Between begin and its end only assume, hold and
 * closing may change the cache.
 */
struct cache_mark {
    size_t journal;
    size_t assumed;
};
struct cache_mark cache_begin(struct cache *cache);
void cache_keep(struct cache *cache, struct cache_mark mark);
void cache_roll_back(struct cache *cache, struct cache_mark mark);

/* The node has changed, or was put back: no result of before holds for it. */
void cache_touch(struct cache *cache, struct node_view *v);

/* Nodes that are closed to the pod, or to the further pods of the group, that
 * is being placed (framework/node_view.h, is_closed): its PodGroup wants each of
 * its pods on its own node. Close nodes of group: those that pods of the PodGroup
 * of `like` and of its owner have. Open: all of them, at the end of the cycle,
 * whatever came of it. NodeResourcesFit rejects closed nodes.
 */
void cache_close_node(struct cache *cache, struct node_view *node);
void cache_close_nodes_of_group(struct cache *cache, const struct pod_view *like);
void cache_open_nodes(struct cache *cache);
bool cache_has_of_group(const struct cache *cache, const struct pod_view *like,
                        const struct node_view *node);

/* The pods with a node that name the PodGroup of `like` and have its owner. The visitor
 * must not change the cache.
 */
void cache_visit_group(const struct cache *cache, const struct pod_view *like,
                       void (*visit)(struct pod_view *pod, const struct node_view *node,
                                     void *context),
                       void *context);

/* The API's state of bound pods. Set adds, confirms or updates a pod, and moves
 * one that was assumed on another node. Remove returns false if the pod was not
 * there.
 */
void cache_set_pod(struct cache *cache, struct pod_view *pod, const char *node_name);
bool cache_remove_pod(struct cache *cache, const struct pod_view *pod);

/* A pod that had yielded its cores to others takes them back; holds until the
 * API reports the pod again.
 */
void cache_take_back(struct cache *cache, const struct pod_view *pod);

/* Keeps what the node reports of a pod that the API no longer has, by its uid. It counts as
 * long as the cache has no pod of that uid. False: it is kept already, there is such a pod,
 * or there is no such node.
 */
bool cache_retain(struct cache *cache, const char *node_name, const char *uid,
                  const struct remnant *remnant);

/* Drops what was retained of that pod. */
bool cache_release(struct cache *cache, const char *uid);

/* Forgets assumed pods that the API never confirmed; returns how many. */
unsigned cache_expire(struct cache *cache);

/* Updates the snapshot, which is zeroed at first; it borrows lists from the
 * cache.
 */
void cache_update_snapshot(struct cache *cache, struct snapshot *snapshot);

struct cache_counts {
    size_t nodes, pods, assumed; /* pods: with retained allocations */
};
struct cache_counts cache_count(const struct cache *cache);
bool cache_is_assumed(const struct cache *cache, const struct pod_view *pod);
struct node_view *cache_find_node(const struct cache *cache, const char *name);
bool cache_has_partition(const struct cache *cache, const char *name);
typedef void cache_visit_fn(const struct pod_view *pod, bool is_assumed, void *context);
void cache_visit_pods(const struct cache *cache, cache_visit_fn *visit, void *context);

/* Visits pods by the time when they must end, the first end first, at most
 * `most` of them, until the visitor returns false. Pods without a time limit
 * have no end. A pod whose end has passed is being ended now.
 */
typedef bool cache_end_fn(const struct pod_view *pod, struct node_view *node, int64_t end_us,
                          void *context);
void cache_visit_ends(const struct cache *cache, size_t most, cache_end_fn *visit, void *context);

struct pod_view *cache_find_pod(const struct cache *cache, const struct pod_view *like);
