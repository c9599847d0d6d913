/* SPDX-License-Identifier: Apache-2.0 */
/* warehouse.h - claims, volumes and classes of storage, shared by the loops
 * that look after them
 *
 * Tells its listeners what changed after the warehouse itself has.
 *
 * Owns:    an informer per kind, and who was set aside for whom.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct object;
struct warehouse;

/* Either side may be NULL. */
typedef void warehouse_change_fn(const struct object *old_object,
                                 const struct object *new_object,
                                 void *context);

struct warehouse_listener {
    warehouse_change_fn *claim_changed; /* any may be NULL */
    warehouse_change_fn *volume_changed;
    warehouse_change_fn *class_changed;
    void (*synced)(void *context); /* all kinds are here */
    void *context;
};

/* Life. Listeners are added before warehouse_start. */
void warehouse_free(struct warehouse *w);
struct warehouse *warehouse_new(struct client *client) OWNED_BY(warehouse_free);
DEFINE_CLEANUP(struct warehouse, warehouse_free)
void warehouse_listen(struct warehouse *w,
                      const struct warehouse_listener *listener);
void warehouse_start(struct warehouse *w);

/* Look. Borrowed until the next change; NULL when it is not there. */
bool warehouse_has_synced(const struct warehouse *w);
const struct object *warehouse_find_claim(const struct warehouse *w,
                                          const char *namespace,
                                          const char *name);
const struct object *warehouse_find_volume(const struct warehouse *w,
                                           const char *name);
const struct object *warehouse_find_class(const struct warehouse *w,
                                          const char *name);

/* The volume whose claimRef names that claim. */
const struct object *warehouse_find_aside(const struct warehouse *w,
                                          const struct object *claim);

typedef void warehouse_visit_fn(const struct object *object, void *context);
void warehouse_visit_claims(const struct warehouse *w,
                            warehouse_visit_fn *visit,
                            void *context);
void warehouse_visit_volumes(const struct warehouse *w,
                             warehouse_visit_fn *visit,
                             void *context);
