/* SPDX-License-Identifier: Apache-2.0 */
/* undo_log.h - how to undo changes of the pending head
 *
 * A transaction's log stays with its batch until that is published: when the
 * disk refuses a batch, the whole pending head is rolled back.
 *
 * Owns:    copies of names, secrets and lists of deltas.
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/store/memory/blob_counts.h"
#include "lib/base/macro.h"

struct entry;
struct object_index;

struct undo {
    enum { UNDO_OBJECT, UNDO_BLOB, UNDO_SECRET } what;
    struct object_index *objects;
    struct entry *entry;
    int64_t row;
    int64_t *deltas;
    uint32_t n_deltas;
    uint32_t delta_bytes;
    char *name; /* of the blob or secret */
    struct stored_blob blob;
    char *secret; /* the old value, or NULL */
};

/* Oldest change first; all zero is empty. */
struct undo_log {
    struct undo *items;
    size_t count;
    size_t capacity;
};

/* Life. */
void undo_log_fini(struct undo_log *log);

/* Add returns a zeroed item, which the caller fills in at once. Append
 * moves all items of `from` to the end.
 */
struct undo *undo_log_add(struct undo_log *log);
void undo_log_append(struct undo_log *log, struct undo_log *from);
void undo_free_one(struct undo *undo); /* frees what it owns */
