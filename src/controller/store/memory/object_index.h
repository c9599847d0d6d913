/* SPDX-License-Identifier: Apache-2.0 */
/* object_index.h - the objects of one kind, found by key and walked in its
 * order
 *
 * An entry stands for a key (namespace, name) under both heads. It stays while
 * either head has an object or the change log remembers a change of it, so that
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
struct object_index;

#define ENTRY_HEADS 2 /* by enum store_head */

struct entry {
    const struct object *heads[ENTRY_HEADS];
    int64_t row;          /* its key in the database, 0: none */
    uint64_t last_change; /* of it in the change log, 0: none */
    int64_t *deltas;      /* revisions of the deltas behind its body */
    uint32_t n_deltas;
    uint32_t delta_bytes;
    struct aging *aging; /* of transient kinds, see expiry.h */
    uint32_t hash;
    uint16_t key_length;
    uint8_t height;
    uint8_t n_indexes;
    struct entry *next[]; /* height of them; then the postings, and the key,
                           * "namespace NUL name" */
};

/* One pair of postings for each secondary index, which numbers them; 0: none. */
typedef uint32_t entry_postings[ENTRY_HEADS];

static inline entry_postings *
entry_postings_of(struct entry *entry)
{
    return (void *)&entry->next[entry->height];
}

/* Life */
void object_index_free(struct object_index *s);
struct object_index *object_index_new(const struct kind *kind,
                                      unsigned n_indexes)
    OWNED_BY(object_index_free);

/* Change. Add: the entry that is there, or a new one without objects. Remove
 * frees it.
 */
struct entry *object_index_add(struct object_index *s,
                               const char *namespace,
                               const char *name);
void object_index_remove(struct object_index *s, struct entry *entry);

/* Look. Seek: the first entry behind (namespace, name), or not before it.
 * NULL namespace: none.
 */
struct entry *object_index_find(const struct object_index *s,
                                const char *namespace,
                                const char *name);
struct entry *object_index_first(const struct object_index *s);
struct entry *object_index_seek(const struct object_index *s,
                                const char *namespace,
                                const char *name);
struct entry *object_index_seek_behind(const struct object_index *s,
                                       const char *namespace,
                                       const char *name);
const struct kind *object_index_kind(const struct object_index *s);

/* "" when it has none. */
const char *entry_namespace(const struct entry *entry);
