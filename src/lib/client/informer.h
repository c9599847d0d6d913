/* SPDX-License-Identifier: Apache-2.0 */
/* informer.h - a local cache of the objects of one kind: list, then watch
 *
 * Keeps the newest state of every object and tells handlers what changed. The
 * cache survives lost connections, 410 and a watch that delivers older changes
 * after newer ones: the informer lists again and reports the difference. It
 * retries with backoff, without a limit.
 *
 * Owns:    one reference to every object of its kind (and selection).
 * Thread:  that of its client.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct informer;
struct object;

/* Added: old is NULL. Deleted: new is NULL. Both borrowed. */
typedef void informer_change_fn(const struct object *old_object, const struct object *new_object,
                                void *context);
typedef void informer_synced_fn(void *context);
typedef void informer_refused_fn(const struct error *err, void *context);

struct informer_settings {
    struct client *client;
    const struct kind *kind;
    const char *namespace;      /* NULL: all */
    const char *label_selector; /* or NULL */
    const char *field_selector; /* or NULL */
    informer_change_fn *changed;
    informer_synced_fn *synced;      /* after the first full list; or NULL */
    informer_synced_fn *interrupted; /* the connection was lost or the server refuses; or NULL */
    /* When the user may not list the objects; or NULL. The informer tries again,
     * in case the user gets the right. It must not be freed in the call.
     */
    informer_refused_fn *refused;
    void *context;
};

/* Life. Starts at once. */
void informer_free(struct informer *informer);
struct informer *informer_new(const struct informer_settings *settings) OWNED_BY(informer_free);
DEFINE_CLEANUP(struct informer, informer_free)

/* Call this when the server is known to answer again: a pending retry is moved
 * forward to a random time within `within_ms`.
 */
void informer_retry_now(struct informer *informer, int64_t within_ms);

/* Find: borrowed until the next change. */
bool
/* is waiting to retry */
informer_is_disconnected(const struct informer *informer);
bool informer_has_synced(const struct informer *informer);
/* Whether the change being reported was found by a list, not by a watch. */
bool informer_is_listing(const struct informer *informer);
const struct object *informer_find(const struct informer *informer, const char *namespace,
                                   const char *name);
size_t informer_count(const struct informer *informer);
typedef void informer_visit_fn(const struct object *object, void *context);
void informer_visit(const struct informer *informer, informer_visit_fn *visit, void *context);
