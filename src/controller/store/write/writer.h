/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the thread that makes batches durable, one at a time
 *
 * It also has the engine's log copied back: most of it by the checkpointer
 * while commits go on, the rest between two batches.
 *
 * Owns:       the engine, from writer_new on.
 * Called by:  commit.c.
 * Thread:     the loop's.
 * Invariant:  at most one batch is being written. After one that was neither
 *             committed nor refused no other is begun.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/engine/engine.h"
#include "lib/base/macro.h"

struct batch;
struct error;
struct serial_worker;
struct loop;
struct writer;

/* `err` is NULL if the batch was committed. The callee owns the batch. */
typedef void writer_done_fn(struct batch *batch TAKES, enum engine_outcome outcome,
                            const struct error *err, void *context);

struct writer_settings {
    struct loop *loop;
    struct engine *engine;
    struct engine_counters counters; /* the engine's present ones */
    const char *thread_name;
    struct serial_worker *checkpointer; /* NULL: the writer's own thread
                                         * checkpoints */
    size_t backlog;                     /* size of the log at which it is copied back; 0: 16 MiB */
    writer_done_fn *done;
    void *context;
};

/* Life. Free waits for pending batches and closes the engine. */
void writer_free(struct writer *w);
struct writer *writer_new(const struct writer_settings *settings) OWNED_BY(writer_free);

/* Submit may be called only while the writer is not busy. After the last batch
 * another process may lead. Drain waits, and runs callbacks meanwhile.
 */
void writer_submit(struct writer *w, struct batch *batch TAKES,
                   const struct engine_counters *after);
void writer_submit_last(struct writer *w, struct batch *batch TAKES,
                        const struct engine_counters *after);
void writer_drain(struct writer *w);

/* Spare: while the disk is full, the log is copied back early and its space
 * used again.
 */
void writer_spare(struct writer *w, bool spares);

bool writer_is_busy(const struct writer *w);
const struct engine_counters *writer_durable(const struct writer *w);
