/* SPDX-License-Identifier: Apache-2.0 */
/* object_cache.h - the objects of the cluster, shared by all lifecycle loops
 *
 * There is one informer for each kind that a loop listens to, and always one
 * for namespaces, nodes, node leases, Jobs, budgets and pods. The cache also
 * indexes the pods of each controlling Job, the pods of each node, and the
 * volume that is pre-bound to a claim. Listeners are notified of a change after
 * the cache and its indexes hold it.
 *
 * Owns:       the informers and the indexes.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct kind;
struct object;
struct object_cache;

/* Old is NULL for an added object, new for a deleted one. */
typedef void object_cache_change_fn(const struct object *old_object,
                                    const struct object *new_object, void *context);
typedef void object_cache_synced_fn(void *context);

/* Whether the store holds an object that it cannot read: one with that key (kind NULL: any
 * object), or one that contains the uid. Any thread may call it.
 */
typedef bool object_cache_damaged_fn(const struct kind *kind, const char *namespace,
                                     const char *name, const char *uid, void *context);

/* Life. Listeners are added before object_cache_start; `synced` is called once
 * the objects of all kinds have been listed.
 */
void object_cache_free(struct object_cache *cache);
struct object_cache *object_cache_new(struct client *client) OWNED_BY(object_cache_free);
DEFINE_CLEANUP(struct object_cache, object_cache_free)
void object_cache_listen(struct object_cache *cache, const struct kind *kind,
                         object_cache_change_fn *changed, void *context);
void object_cache_on_synced(struct object_cache *cache, object_cache_synced_fn *synced,
                            void *context);
void object_cache_ask_damaged(struct object_cache *cache, object_cache_damaged_fn *is_damaged,
                              void *context);
void object_cache_start(struct object_cache *cache);

/* The result is borrowed until the next change; NULL when there is no
 * such object. The key is "NS/NAME", or "NAME" for cluster-scoped objects.
 * Find_prebound returns the volume whose claimRef names that claim.
 */
bool object_cache_has_synced(const struct object_cache *cache);
const struct object *object_cache_find(const struct object_cache *cache, const struct kind *kind,
                                       const char *namespace, const char *name);
const struct object *object_cache_find_key(const struct object_cache *cache,
                                           const struct kind *kind, const char *key);
const struct object *object_cache_find_prebound(const struct object_cache *cache,
                                                const struct object *claim);
bool object_cache_is_damaged(const struct object_cache *cache, const struct kind *kind,
                             const char *namespace, const char *name, const char *uid);

/* Visits the pods whose controlling Job has that uid, the pods that are bound
 * to that node, or all objects of a kind.
 */
typedef void object_cache_visit_fn(const struct object *object, void *context);
void object_cache_visit_owned(const struct object_cache *cache, const char *owner_uid,
                              object_cache_visit_fn *visit, void *context);
void object_cache_visit_on_node(const struct object_cache *cache, const char *node,
                                object_cache_visit_fn *visit, void *context);
void object_cache_visit(const struct object_cache *cache, const struct kind *kind,
                        object_cache_visit_fn *visit, void *context);
