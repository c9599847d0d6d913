/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - what every node has and which pods are on it, assumed ones included
 *
 * A pod is *assumed* on a node the moment it is chosen, so that the next cycle
 * sees its exact cores taken while the binding is on its way. The API then
 * confirms it, or the scheduler forgets it. Pods that are being deleted keep
 * what they hold until the API says that they are gone.
 *
 * Owns:       the views of all nodes, and of the pods on them.
 * Called by:  the cycle (assume, forget, snapshot) and the informers (the
 *             rest).
 * Thread:     the scheduler's.
 * Invariant:  a pod is on at most one node. Only an assumed pod is forgotten
 *             or expires.
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
    int64_t expire_us; /* assumed pods whose binding has ended; 0: never */
};

/* Life */
void cache_free(struct cache *cache);
struct cache *cache_new(const struct cache_settings *settings)
    OWNED_BY(cache_free);
DEFINE_CLEANUP(struct cache, cache_free)

/* Nodes. Set adds or updates. A removed node stays as long as pods are on it,
 * but no snapshot shows it.
 */
void cache_set_node(struct cache *cache, const struct object *node);
void cache_remove_node(struct cache *cache, const char *name);

/* The node, which the API need not know, for a nomination; leave: once that has
 * ended.
 */
struct node_view *cache_make_node(struct cache *cache, const char *name);
void cache_leave_node(struct cache *cache, struct node_view *node);

/* Assuming. -EEXIST: the pod is on a node already; -ENOENT: no such node.
 * Hold: what it holds there (takes it). Forget: false when it was not assumed.
 */
int
cache_assume(struct cache *cache, struct pod_view *pod, const char *node_name);
void cache_hold(struct cache *cache,
                struct pod_view *pod,
                struct holding *holding TAKES);
void cache_finish_binding(struct cache *cache, const struct pod_view *pod);
bool cache_forget(struct cache *cache, const struct pod_view *pod);

/* Trying. Keep or roll back the pods that were assumed and held after begin.
 * After a roll back the nodes and all that hangs on them are as they were, but
 * for their generations. Nothing else may be changed in between.
 */
struct cache_mark {
    size_t journal;
    size_t assumed;
};
struct cache_mark cache_begin(struct cache *cache);
void cache_keep(struct cache *cache, struct cache_mark mark);
void cache_roll_back(struct cache *cache, struct cache_mark mark);

/* The API's state of bound pods. Set adds, confirms or updates a pod, and moves
 * one that was assumed on another node. Remove returns false when the pod was
 * not there.
 */
void
cache_set_pod(struct cache *cache, struct pod_view *pod, const char *node_name);
bool cache_remove_pod(struct cache *cache, const struct pod_view *pod);

/* One that stood still for others lends its cores no more; until the API tells of
 * it anew.
 */
void cache_take_back(struct cache *cache, const struct pod_view *pod);

/* Keeps what a node says is left of a pod that the API has forgotten, by its
 * uid. It counts as long as no pod of that uid is there. Retain: false when it
 * is there already, or such a pod, or when there is no such node.
 */
bool cache_retain(struct cache *cache,
                  const char *node_name,
                  const char *uid,
                  const struct remnant *remnant);
bool cache_release(struct cache *cache, const char *uid);

/* Forgets assumed pods that were never confirmed; returns how many. */
unsigned cache_expire(struct cache *cache);

/* Brings the snapshot (zeroed at first) up to date; its lists are the
 * cache's.
 */
void cache_update_snapshot(struct cache *cache, struct snapshot *snapshot);

/* Look */
struct cache_counts {
    size_t nodes, pods, assumed; /* pods: what is left of some, too */
};
struct cache_counts cache_count(const struct cache *cache);
bool cache_is_assumed(const struct cache *cache, const struct pod_view *pod);
struct node_view *cache_find_node(const struct cache *cache, const char *name);
bool cache_has_partition(const struct cache *cache, const char *name);
typedef void
cache_visit_fn(const struct pod_view *pod, bool is_assumed, void *context);
void cache_visit_pods(const struct cache *cache,
                      cache_visit_fn *visit,
                      void *context);

/* Visits pods by the time when they must end, the first end first, at most so
 * many, until the visitor returns false. Pods without a time limit have no end.
 * An end that has passed is that of a pod that is being ended now.
 */
typedef bool cache_end_fn(const struct pod_view *pod,
                          struct node_view *node,
                          int64_t end_us,
                          void *context);
void cache_visit_ends(const struct cache *cache,
                      size_t most,
                      cache_end_fn *visit,
                      void *context);

/* All of them, in no order. */
void cache_visit_all_ends(const struct cache *cache,
                          cache_end_fn *visit,
                          void *context);
struct pod_view *cache_find_pod(const struct cache *cache,
                                const struct pod_view *like);
