/* SPDX-License-Identifier: Apache-2.0 */
/* volume_cache.h - claims, volumes and classes of storage, shared by the loops
 * that look after them
 *
 * Tells its listeners what changed after the volume cache itself has.
 *
 * Owns:    an informer per kind, and which volume is pre-bound to which claim.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct object;
struct volume_cache;

/* Either side may be NULL. */
typedef void volume_cache_change_fn(const struct object *old_object,
                                    const struct object *new_object,
                                    void *context);

struct volume_cache_listener {
    volume_cache_change_fn *claim_changed; /* any may be NULL */
    volume_cache_change_fn *volume_changed;
    volume_cache_change_fn *class_changed;
    void (*synced)(void *context); /* all kinds are here */
    void *context;
};

/* Life. Listeners are added before volume_cache_start. */
void volume_cache_free(struct volume_cache *w);
struct volume_cache *volume_cache_new(struct client *client)
    OWNED_BY(volume_cache_free);
DEFINE_CLEANUP(struct volume_cache, volume_cache_free)
void volume_cache_listen(struct volume_cache *w,
                         const struct volume_cache_listener *listener);
void volume_cache_start(struct volume_cache *w);

/* Look. Borrowed until the next change; NULL when it is not there. */
bool volume_cache_has_synced(const struct volume_cache *w);
const struct object *volume_cache_find_claim(const struct volume_cache *w,
                                             const char *namespace,
                                             const char *name);
const struct object *volume_cache_find_volume(const struct volume_cache *w,
                                              const char *name);
const struct object *volume_cache_find_class(const struct volume_cache *w,
                                             const char *name);

/* The volume whose claimRef names that claim. */
const struct object *volume_cache_find_prebound(const struct volume_cache *w,
                                                const struct object *claim);

typedef void volume_cache_visit_fn(const struct object *object, void *context);
void volume_cache_visit_claims(const struct volume_cache *w,
                               volume_cache_visit_fn *visit,
                               void *context);
void volume_cache_visit_volumes(const struct volume_cache *w,
                                volume_cache_visit_fn *visit,
                                void *context);
