/* SPDX-License-Identifier: Apache-2.0 */
/* expiry.h - removes objects of transient kinds (events) that are too old or
 * too many
 *
 * Called by:  the store, which tells what is published, and removes.
 * Thread:     the loop's.
 * Invariant:  holds every published object of those kinds, by its owner, oldest
 *             write first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct entry;
struct expiry;
struct loop;
struct object;

/* The owner of an object: a user, or the system. */
struct expiry_owner {
    bool is_user;
    char name[400]; /* any text that tells owners apart */
};

/* Remove: the object is no longer held, whether or not it can be removed now. Is_off:
 * nothing can be removed any more.
 */
struct expiry_settings {
    struct loop *loop;
    struct clock *clock;
    int64_t age_s;
    size_t limit;
    void (*find_owner)(const struct object *object, struct expiry_owner *ret_owner, void *context);
    void (*remove)(struct entry *entry, void *context);
    bool (*is_off)(void *context);
    void *context;
};

/* Life. */
void expiry_free(struct expiry *x);
struct expiry *expiry_new(const struct expiry_settings *settings) OWNED_BY(expiry_free);

/* Touch, forget: the entry's object was written or removed. Add_old: it was
 * written before all that were touched. Remove_expired removes what has expired; it
 * also runs by itself every few seconds.
 */
void expiry_touch(struct expiry *x, struct entry *entry, const struct object *object);
void expiry_add_old(struct expiry *x, struct entry *entry, const struct object *object);
void expiry_forget(struct expiry *x, struct entry *entry);
void expiry_remove_expired(struct expiry *x);
