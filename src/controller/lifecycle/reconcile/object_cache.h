/* SPDX-License-Identifier: Apache-2.0 */
/* object_cache.h - the objects of the cluster, shared by all lifecycle loops
 *
 * One informer for each kind that a loop listens to, and always those of
 * namespaces, nodes, their leases, Jobs, budgets and pods; besides, the pods of
 * each controlling owner and of each node, and the volume that is pre-bound to
 * a claim. It tells its listeners of a change when it knows that itself.
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

/* Either side may be NULL. */
typedef void object_cache_change_fn(const struct object *old_object,
                                    const struct object *new_object,
                                    void *context);
typedef void object_cache_synced_fn(void *context);

/* Whether the store holds an object that it cannot read: of that key (kind
 * NULL: of any), or one that has the uid in it. By any thread.
 */
typedef bool object_cache_damaged_fn(const struct kind *kind,
                                     const char *namespace,
                                     const char *name,
                                     const char *uid,
                                     void *context);

/* Life. Listeners are added before object_cache_start; `synced` is called once
 * all kinds are there.
 */
void object_cache_free(struct object_cache *cache);
struct object_cache *object_cache_new(struct client *client)
    OWNED_BY(object_cache_free);
DEFINE_CLEANUP(struct object_cache, object_cache_free)
void object_cache_listen(struct object_cache *cache,
                         const struct kind *kind,
                         object_cache_change_fn *changed,
                         void *context);
void object_cache_on_synced(struct object_cache *cache,
                            object_cache_synced_fn *synced,
                            void *context);
void object_cache_ask_damaged(struct object_cache *cache,
                              object_cache_damaged_fn *is_damaged,
                              void *context);
void object_cache_start(struct object_cache *cache);

/* Look. Borrowed until the next change; NULL when it is not there. The key is
 * "NS/NAME", or "NAME" of what is in no namespace. Prebound: the volume whose
 * claimRef names that claim.
 */
bool object_cache_has_synced(const struct object_cache *cache);
const struct object *object_cache_find(const struct object_cache *cache,
                                       const struct kind *kind,
                                       const char *namespace,
                                       const char *name);
const struct object *object_cache_find_key(const struct object_cache *cache,
                                           const struct kind *kind,
                                           const char *key);
const struct object *
object_cache_find_prebound(const struct object_cache *cache,
                           const struct object *claim);
bool object_cache_is_damaged(const struct object_cache *cache,
                             const struct kind *kind,
                             const char *namespace,
                             const char *name,
                             const char *uid);

/* Visits the pods whose controlling owner has that uid, the pods that are bound
 * to that node, or all objects of a kind.
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
void object_cache_visit(const struct object_cache *cache,
                        const struct kind *kind,
                        object_cache_visit_fn *visit,
                        void *context);
