/* SPDX-License-Identifier: Apache-2.0 */
/* shelf.h - the objects of one kind, found by key and walked in its order
 *
 * An entry stands for a key (namespace, name) under both heads. It stays while
 * either head has an object or the history remembers a change of it, so that
 * a list can be made as of an older revision.
 *
 * Owns:       its entries; their references belong to who sets them.
 * Thread:     the loop's.
 * Invariant:  in the order of (namespace, name), bytes compared as numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct aging;
struct kind;
struct object;
struct posting;
struct shelf;

#define ENTRY_HEADS 2 /* by enum store_head */

struct entry {
    const struct object *heads[ENTRY_HEADS];
    int64_t row;          /* its key in the database, 0: none */
    uint64_t last_change; /* of it in the history, 0: none */
    int64_t *deltas;      /* revisions of the deltas behind its body */
    uint32_t n_deltas;
    uint32_t delta_bytes;
    uint32_t hash;
    uint32_t key_length;
    uint8_t height;
    struct aging *aging; /* of transient kinds, see expiry.h */
    const char *key;     /* "namespace NUL name" */
    struct posting *(*postings)[ENTRY_HEADS]; /* one pair per lookup */
    struct entry *next[];                     /* height of them */
};

/* Life */
void shelf_free(struct shelf *s);
struct shelf *shelf_new(const struct kind *kind, unsigned n_lookups)
    OWNED_BY(shelf_free);

/* Change. Add: the entry that is there, or a new one without objects. Remove
 * frees it.
 */
struct entry *
shelf_add(struct shelf *s, const char *namespace, const char *name);
void shelf_remove(struct shelf *s, struct entry *entry);

/* Look. Seek: the first entry behind (namespace, name), or not before it.
 * NULL namespace: none.
 */
struct entry *
shelf_find(const struct shelf *s, const char *namespace, const char *name);
struct entry *shelf_first(const struct shelf *s);
struct entry *
shelf_seek(const struct shelf *s, const char *namespace, const char *name);
struct entry *shelf_seek_behind(const struct shelf *s,
                                const char *namespace,
                                const char *name);
const struct kind *shelf_kind(const struct shelf *s);

/* "" when it has none. */
const char *entry_namespace(const struct entry *entry);
