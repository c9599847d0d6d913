/* SPDX-License-Identifier: Apache-2.0 */
/* object_cache.h - the objects of the cluster, shared by all lifecycle loops
 *
 * One informer per kind, and the pods of each controlling owner and of each
 * node. Tells its listeners what changed after the object cache itself has.
 *
 * Owns:       the informers and the indexes.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct client;
struct kind;
struct object;
struct object_cache;

/* Either side may be NULL. */
typedef void object_cache_change_fn(const struct object *old_object,
                                    const struct object *new_object,
                                    void *context);
typedef void object_cache_synced_fn(void *context);

struct object_cache_listener {
    object_cache_change_fn *pod_changed; /* any may be NULL */
    object_cache_change_fn *job_changed;
    object_cache_change_fn *node_changed;
    object_cache_change_fn *lease_changed;
    object_cache_change_fn *namespace_changed;
    object_cache_change_fn *budget_changed;
    object_cache_synced_fn *synced; /* all kinds are here */
    void *context;
};

/* Whether the store holds an object that it cannot read: of that key (kind
 * NULL: of any), or one that has the uid in it. By any thread.
 */
typedef bool object_cache_damaged_fn(const struct kind *kind,
                                     const char *namespace,
                                     const char *name,
                                     const char *uid,
                                     void *context);

/* Life. Listeners are added before object_cache_start. */
void object_cache_free(struct object_cache *cache);
struct object_cache *object_cache_new(struct client *client)
    OWNED_BY(object_cache_free);
DEFINE_CLEANUP(struct object_cache, object_cache_free)
void object_cache_listen(struct object_cache *cache,
                         const struct object_cache_listener *listener);
void object_cache_ask_damaged(struct object_cache *cache,
                              object_cache_damaged_fn *is_damaged,
                              void *context);
void object_cache_start(struct object_cache *cache);

/* Look. Borrowed until the next change. */
bool object_cache_has_synced(const struct object_cache *cache);
const struct object *object_cache_find_pod(const struct object_cache *cache,
                                           const char *namespace,
                                           const char *name);
const struct object *object_cache_find_job(const struct object_cache *cache,
                                           const char *namespace,
                                           const char *name);
const struct object *object_cache_find_node(const struct object_cache *cache,
                                            const char *name);
const struct object *
object_cache_find_namespace(const struct object_cache *cache, const char *name);
const struct object *object_cache_find_budget(const struct object_cache *cache,
                                              const char *key);
bool object_cache_is_damaged(const struct object_cache *cache,
                             const struct kind *kind,
                             const char *namespace,
                             const char *name,
                             const char *uid);
size_t object_cache_count_nodes(const struct object_cache *cache);

/* Visits the pods whose controlling owner has that uid, or that are bound to
 * that node.
 */
typedef void object_cache_visit_fn(const struct object *object, void *context);
void object_cache_visit_owned(const struct object_cache *cache,
                              const char *owner_uid,
                              object_cache_visit_fn *visit,
                              void *context);
void object_cache_visit_on_node(const struct object_cache *cache,
                                const char *node,
                                object_cache_visit_fn *visit,
                                void *context);
void object_cache_visit_jobs(const struct object_cache *cache,
                             object_cache_visit_fn *visit,
                             void *context);
void object_cache_visit_pods(const struct object_cache *cache,
                             object_cache_visit_fn *visit,
                             void *context);
void object_cache_visit_nodes(const struct object_cache *cache,
                              object_cache_visit_fn *visit,
                              void *context);
void object_cache_visit_budgets(const struct object_cache *cache,
                                object_cache_visit_fn *visit,
                                void *context);
