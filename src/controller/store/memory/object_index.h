/* SPDX-License-Identifier: Apache-2.0 */
/* object_index.h - the objects of one kind, found by key and visited in its
 * order
 *
 * An entry holds the objects of one key (namespace, name) under both heads. It
 * exists while either head has an object or the change log has a change of it,
 * so that objects can be listed at an older revision.
 *
 * Owns:       its entries; the callers own their references.
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
    int64_t row;          /* key in the database; 0: none */
    uint64_t last_change; /* its last one in the change log; 0: none */
    int64_t *deltas;      /* revisions of the deltas after its body */
    uint32_t n_deltas;
    uint32_t delta_bytes;
    struct aging *aging; /* of transient kinds, see expiry.h */
    uint32_t hash;
    uint16_t key_length;
    uint8_t height;
    uint8_t n_indexes;
    struct entry *next[]; /* `height` links; then the postings, and the key,
                           * "namespace NUL name" */
};

/* A pair of posting numbers for each secondary index; 0: none. */
typedef uint32_t entry_postings[ENTRY_HEADS];

static inline entry_postings *
entry_postings_of(struct entry *entry)
{
    return (void *)&entry->next[entry->height];
}

/* Life. */
void object_index_free(struct object_index *s);
struct object_index *object_index_new(const struct kind *kind, unsigned n_indexes)
    OWNED_BY(object_index_free);

/* Add returns the existing entry, or a new one without objects. Remove
 * frees the entry.
 */
struct entry *object_index_add(struct object_index *s, const char *namespace, const char *name);
void object_index_remove(struct object_index *s, struct entry *entry);

/* Seek: the first entry not before (namespace, name); seek_behind: the
 * first one after it. A NULL namespace is the empty one.
 */
struct entry *object_index_find(const struct object_index *s, const char *namespace,
                                const char *name);
struct entry *object_index_first(const struct object_index *s);
struct entry *object_index_seek(const struct object_index *s, const char *namespace,
                                const char *name);
struct entry *object_index_seek_behind(const struct object_index *s, const char *namespace,
                                       const char *name);
const struct kind *object_index_kind(const struct object_index *s);

/* "" if it is cluster-scoped. */
const char *entry_namespace(const struct entry *entry);
