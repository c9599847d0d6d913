/* SPDX-License-Identifier: Apache-2.0 */
/* expiry.h - removes objects of transient kinds (events) that are too old or
 * too many
 *
 * Thread:     the loop's.
 * Invariant:  holds every published object of those kinds, oldest write first.
 */
#pragma once

#include "lib/base/macro.h"

struct entry;
struct expiry;
struct store;

/* Life. */
void expiry_free(struct expiry *x);
struct expiry *expiry_new(struct store *store) OWNED_BY(expiry_free);

/* Change. Touch, forget: the entry's object was written or removed.
 * Remove_expired removes what has expired; it also runs by itself every few
 * seconds.
 */
void expiry_touch(struct expiry *x, struct entry *entry);
void expiry_forget(struct expiry *x, struct entry *entry);
void expiry_remove_expired(struct expiry *x);
