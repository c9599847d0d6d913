/* SPDX-License-Identifier: Apache-2.0 */
/* undo.h - how changes of the pending head are taken back
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

#include "controller/store/blob_counts.h"
#include "lib/base/macro.h"

struct entry;
struct shelf;
struct store;

struct undo {
    enum { UNDO_OBJECT, UNDO_BLOB, UNDO_SECRET } what;
    struct shelf *shelf;
    struct entry *entry;
    int64_t row;
    int64_t *deltas;
    uint32_t n_deltas;
    uint32_t delta_bytes;
    char *name; /* of the blob or secret */
    struct blob blob;
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

/* Change. Add: a zeroed one, to be filled in at once. Pour moves all of `from`
 * to the end. Take back undoes the newest first; of objects there has to be
 * the change at the end of the history.
 */
struct undo *undo_log_add(struct undo_log *log);
void undo_log_pour(struct undo_log *log, struct undo_log *from);
void undo_log_take_back(struct undo_log *log, struct store *store);
