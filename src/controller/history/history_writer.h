/* SPDX-License-Identifier: Apache-2.0 */
/* history_writer.h - the thread that writes history
 *
 * One order at a time: open the file, write what is queued, drop what is old,
 * make indexes that are missing.
 *
 * Thread:  the loop's, but for its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/history/history_queue.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct history_writer;
struct loop;

/* An order, and what came of it. */
struct history_order {
    enum { HISTORY_OPEN, HISTORY_WRITE, HISTORY_DROP, HISTORY_INDEX } what;

    /* Open */
    char *cluster, *lost;
    int64_t store_revision, epoch, opened_at;

    /* Write */
    struct history_queue queue;
    int64_t revision; /* the watermark after it */

    /* Drop */
    int64_t before_s, max_bytes;

    /* The outcome */
    int result;
    struct error err;
    struct strbuf notice; /* of a file that was set aside */
    bool is_new; /* it was, within a write: all is to be written anew */
    int64_t watermark;
    int64_t bytes;
    uint64_t rows;
    int64_t dropped;
};

typedef void history_done_fn(struct history_order *order, void *context);

/* Life. Free waits for the order under way. */
void history_writer_free(struct history_writer *writer);
struct history_writer *history_writer_new(struct loop *loop,
                                          const char *path,
                                          history_done_fn *done,
                                          void *context)
    OWNED_BY(history_writer_free);

/* Change: while none is under way; the order is the writer's until `done`. */
void history_writer_submit(struct history_writer *writer,
                           struct history_order *order TAKES);
void history_writer_drain(struct history_writer *writer);

/* No index is made any more, the one under way included. */
void history_writer_stop_indexing(struct history_writer *writer);
void history_order_free(struct history_order *order);

/* Look */
bool history_writer_is_busy(const struct history_writer *writer);
