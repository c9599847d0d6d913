/* SPDX-License-Identifier: Apache-2.0 */
/* undo_log.h - how changes of the pending head are taken back
 *
 * A transaction's log goes with its batch until that is published: a batch
 * that the disk refused takes the whole pending head back.
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
    char *secret; /* or NULL */
};

/* Oldest first; all zero is empty. */
struct undo_log {
    struct undo *items;
    size_t count;
    size_t capacity;
};

/* Life */
void undo_log_fini(struct undo_log *log);

/* Change. Add: a zeroed one, to be filled in at once. Append moves all of
 * `from` to the end.
 */
struct undo *undo_log_add(struct undo_log *log);
void undo_log_append(struct undo_log *log, struct undo_log *from);
void undo_free_one(struct undo *undo); /* what it owns */
