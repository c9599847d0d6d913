/* SPDX-License-Identifier: Apache-2.0 */
/* expiry.h - when objects of transient kinds (events) were last written, and
 * their removal when they are old or too many
 *
 * Thread:     the loop's.
 * Invariant:  holds every published object of those kinds, oldest write first.
 */
#pragma once

#include "lib/base/macro.h"

struct entry;
struct expiry;
struct store;

/* Life */
void expiry_free(struct expiry *x);
struct expiry *expiry_new(struct store *store) OWNED_BY(expiry_free);

/* Change: the entry's object was written, or removed. Remove_expired, which it
 * also does by itself every few seconds, removes what has expired.
 */
void expiry_touch(struct expiry *x, struct entry *entry);
void expiry_forget(struct expiry *x, struct entry *entry);
void expiry_remove_expired(struct expiry *x);
