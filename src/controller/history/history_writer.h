/* SPDX-License-Identifier: Apache-2.0 */
/* history_writer.h - the thread that writes history
 *
 * It executes one order at a time: open the file, write queued rows, delete old
 * rows, create missing indexes.
 *
 * Thread:  the loop's, except its own thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/history/history.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct history_writer;
struct loop;
struct object;

/* Ends whose rows are to be written; the queue has references to the objects.
 *
 * A pod with its Job (or NULL), a Job alone, or the text of a row that was kept
 * in the store.
 */
struct history_end {
    const struct object *pod;
    const struct object *job;
    char *text;
    char *deleted_by; /* who deleted the Job, if that is gone; or NULL */
    char key[64];     /* uid that identifies the row */
    int64_t at_us;
};

struct history_queue {
    struct history_end *items;
    size_t count, capacity;
};

/* Steps of one pod, as the text of a struct step_batch; `done` hears when they are on the
 * disk, or that they are not.
 */
struct history_batch {
    struct history_batch *next;
    char *text;
    int result; /* after the write: as of history_file_add_steps */
    history_kept_fn *done;
    void *context;
};

void history_queue_fini(struct history_queue *queue);

/* Takes references and copies the texts, which may be NULL. */
void history_queue_add(struct history_queue *queue, const struct history_end *end, const char *text,
                       const char *deleted_by, const char *key);

/* An order, and its result. */
struct history_order {
    enum { HISTORY_OPEN, HISTORY_WRITE, HISTORY_DROP, HISTORY_INDEX } what;

    /* Open. */
    char *cluster, *lost;
    int64_t store_revision, epoch, opened_at;

    /* Write. */
    struct history_queue queue;
    struct history_batch *batches;
    int64_t revision; /* watermark after the write */

    /* Drop. */
    int64_t before_s, max_bytes;

    /* Result. */
    int result;
    struct error err;
    struct strbuf notice; /* about a file that was set aside */
    bool is_new;          /* a write has begun a new file: write all rows again */
    int64_t watermark;
    int64_t bytes;
    uint64_t rows;
    int64_t dropped;
};

typedef void history_done_fn(struct history_order *order, void *context);

/* Life. Free waits for the pending order. `database`: that of a replicated store,
 * or NULL.
 */
void history_writer_free(struct history_writer *writer);
struct history_writer *history_writer_new(struct loop *loop, const char *path, const char *database,
                                          history_done_fn *done, void *context)
    OWNED_BY(history_writer_free);

/* Submit may be called only while no order is pending; the writer owns
 * the order until `done`.
 */
void history_writer_submit(struct history_writer *writer, struct history_order *order TAKES);
void history_writer_drain(struct history_writer *writer);

/* Cancels the index that is being created, and creates no others. */
void history_writer_stop_indexing(struct history_writer *writer);
void history_order_free(struct history_order *order);

bool history_writer_is_busy(const struct history_writer *writer);
