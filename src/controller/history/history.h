/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - a permanent row for each attempt of a job: what it was and used
 *
 * History follows the store's commits and has a thread write a row for each pod
 * that ended, into a file of its own; another thread answers questions. It
 * never blocks the loop, and nothing waits for it: when ends arrive faster than
 * rows are written, or the disk is full, they are read from the store again
 * later, from the watermark on.
 *
 * A pod may be removed before its row is on the disk, or without having ended.
 * Then the row is stored in the store (as a secret, "history/UID"), in the
 * transaction that removes the pod, and removed when it is written. So each row
 * exists exactly once, whenever the process is killed.
 *
 * Owns:       the file, its threads, references to the objects in its queue.
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
struct step_batch;
struct store;
struct store_txn;

struct history_settings {
    struct loop *loop;
    struct clock *clock;
    struct store *store;
    const char *directory;           /* the state directory */
    const char *database;            /* URL of a replicated store, or NULL */
    int64_t max_age_s;               /* of rows; 0: for ever */
    int64_t max_bytes;               /* of the file; 0: any */
    size_t queue_most;               /* ends that wait with their objects; 0: 20,000 */
    struct metric_registry *metrics; /* or NULL */
};

/* Life. Stop writes the queued rows, and must be called before the store
 * closes; questions are answered until then.
 */
void history_stop(struct history *history);
void history_free(struct history *history);
struct history *history_new(const struct history_settings *settings) OWNED_BY(history_free);

/* The transaction removes that object. */
void history_note_removal(struct history *history, struct store_txn *txn,
                          const struct object *object);

/* The transaction deletes that Job for that user: the rows of its pods, which
 * may end after the Job is gone, get the user's name.
 */
void history_note_deleter(struct history *history, struct store_txn *txn, const struct object *job,
                          const char *user);

/* Keeps steps of a pod, whose owner the batch tells, or which has a row; `done` runs
 * once, later: 0 when they are on the disk, -ENOENT if no pod of that uid was on the
 * node. -EAGAIN: too many wait; -EBUSY: not open.
 */
typedef void history_kept_fn(int result, const struct error *err, void *context);
int history_keep_steps(struct history *history, const struct step_batch *batch,
                       history_kept_fn *done, void *context, struct error *err);

/* Whether the row of a pod is not on the disk yet. */
bool history_waits_for(const struct history *history, const char *pod_uid);

/* Asks a question; `done` runs once, later: with the text of the answer
 * (borrowed, JSON), or an error. The question must stay valid until then.
 * -EAGAIN: that user, or all users together, have too many questions pending;
 * -EBUSY: the file is still being opened; -EIO with a message: history cannot
 * be opened.
 */
typedef void history_answer_fn(const char *text, size_t length, const struct error *err,
                               void *context);
int history_ask(struct history *history, const struct history_question *question,
                history_answer_fn *done, void *context, struct error *err);

struct history_status {
    bool is_open;
    size_t waiting;      /* rows that are not on the disk yet */
    uint64_t written;    /* since the start */
    uint64_t lost;       /* rows that could not even be kept in the store */
    int64_t bytes;       /* of the file */
    const char *trouble; /* why rows cannot be written; or NULL */
    const char *notice;  /* about a file that was set aside; or NULL */
};
void history_status(const struct history *history, struct history_status *ret_status);
