/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - what every attempt of a job was and cost, once and for good
 *
 * Follows the store's commits and has a thread write a row for each pod that
 * ended, into a file of its own; another thread answers questions. Nothing of
 * it holds the loop, and nothing waits for it: when rows come faster than they
 * are written, or the disk is full, they are taken from the store again, later,
 * from the watermark on.
 *
 * A pod may be removed before its row is on the disk, or go without having
 * ended. Then the row is left in the store (a secret, "history/UID"), in the
 * transaction that removes it, and taken out when it is written. So each row is
 * there exactly once, whenever the process is killed.
 *
 * Owns:       the file, its threads, references to the objects that wait.
 * Called by:  controller.c; the apiserver (questions, removals).
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct error;
struct history;
struct history_question;
struct loop;
struct metric_registry;
struct object;
struct store;
struct store_txn;

struct history_settings {
    struct loop *loop;
    struct clock *clock;
    struct store *store;
    const char *directory;           /* of the state */
    int64_t max_age_s;               /* of rows; 0: for ever */
    int64_t max_bytes;               /* of the file; 0: any */
    struct metric_registry *metrics; /* or NULL */
};

/* Life. Stop writes what waits, and comes before the store closes; answers are
 * given until then.
 */
void history_stop(struct history *history);
void history_free(struct history *history);
struct history *history_new(const struct history_settings *settings)
    OWNED_BY(history_free);

/* An object is being removed in that transaction. */
void history_note_removal(struct history *history,
                          struct store_txn *txn,
                          const struct object *object);

/* A user deletes that Job, in that transaction: the rows of its pods, which may
 * end when it is gone, are to have the name.
 */
void history_note_deleter(struct history *history,
                          struct store_txn *txn,
                          const struct object *job,
                          const char *user);

/* Asks; `done` runs once, later: with the text of the answer (borrowed, JSON),
 * or an error. The question stays until then. -EAGAIN: that user, or all
 * together, ask too much at once; -EBUSY: the file is still being opened;
 * -EIO with words: there is no history now.
 */
typedef void history_answer_fn(const char *text,
                               size_t length,
                               const struct error *err,
                               void *context);
int history_ask(struct history *history,
                const struct history_question *question,
                history_answer_fn *done,
                void *context,
                struct error *err);

/* Look */
struct history_status {
    bool is_open;
    size_t waiting;      /* rows that are not on the disk yet */
    uint64_t written;    /* since the start */
    uint64_t lost;       /* rows that could not even wait */
    int64_t bytes;       /* of the file */
    const char *trouble; /* why rows wait; or NULL */
    const char *notice;  /* of what was set aside at the start; or NULL */
};
void history_status(const struct history *history,
                    struct history_status *ret_status);
