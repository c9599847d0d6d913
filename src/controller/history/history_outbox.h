/* SPDX-License-Identifier: Apache-2.0 */
/* history_outbox.h - rows that are kept in the store, because their object is removed before
 * they are written, and who deleted the Jobs whose pods have not ended
 *
 * Rows are secrets of the store, "history/UID", in the transaction that removes the object.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct clock;
struct history_outbox;
struct object;
struct store;
struct store_txn;

/* Life. */
void history_outbox_free(struct history_outbox *outbox);
struct history_outbox *history_outbox_new(struct store *store, struct clock *clock)
    OWNED_BY(history_outbox_free);

/* Rows. Keep: the row of an object that the transaction removes. Find: the text of a row, or
 * NULL. Visit: all rows, when they are to be written. Remove: those that are written.
 */
typedef void history_outbox_visit_fn(const char *uid, const char *text, void *context);
void history_outbox_keep(struct history_outbox *outbox, struct store_txn *txn,
                         const struct object *object);
const char *history_outbox_find(const struct history_outbox *outbox, const char *uid);
void history_outbox_visit(struct history_outbox *outbox, history_outbox_visit_fn *fn,
                          void *context);
void history_outbox_remove(struct history_outbox *outbox, const char *const *uids, size_t n);

/* The user who deleted a Job; the name is kept until its last pod is removed, by note and
 * forget. Find: that of the pod's Job, if that is gone; or NULL.
 */
void history_outbox_note_deleter(struct history_outbox *outbox, struct store_txn *txn,
                                 const struct object *job, const char *user);
void history_outbox_forget_deleter(struct history_outbox *outbox, struct store_txn *txn,
                                   const struct object *removed);
const char *history_outbox_find_deleter(const struct history_outbox *outbox,
                                        const struct object *pod);

/* The pod's Job, or NULL. */
const struct object *history_outbox_find_job(const struct history_outbox *outbox,
                                             enum store_head head, const struct object *pod);

/* Rows that found no room, since the start. */
uint64_t history_outbox_lost(const struct history_outbox *outbox);
