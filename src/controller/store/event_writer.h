/* SPDX-License-Identifier: Apache-2.0 */
/* event_writer.h - the batches of events, written by a thread of their own on a
 * best-effort basis
 *
 * Nothing waits for them but the last batch of the store, and that not for long.
 *
 * Owns:       the engine of the events.
 * Called by:  commit.c, which gathers what is published.
 * Thread:     the loop's.
 * Invariant:  at most one batch is being written; a bounded number of changes waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct batch;
struct engine;
struct engine_counters;
struct event_writer;
struct loop;

struct event_writer_settings {
    struct loop *loop;
    struct engine *engine;
    const struct engine_counters *counters; /* the engine's present ones */
    const int64_t *revision;                /* committed; read with each batch */
    size_t backlog;                         /* see writer.h */
    void (*finished)(void *context);        /* see finish */
    void *context;
};

/* Life. Free waits for the batch that is being written. */
void event_writer_free(struct event_writer *w);
struct event_writer *event_writer_new(const struct event_writer_settings *settings)
    OWNED_BY(event_writer_free);

/* Change. Gather: NULL is no batch. Submit hands over what is gathered if nothing is being
 * written. Drop has the row deleted.
 */
void event_writer_gather(struct event_writer *w, struct batch *batch TAKES);
void event_writer_submit(struct event_writer *w);
void event_writer_drop(struct event_writer *w, int64_t row);

/* The end. Finish: what is gathered now comes before the last batch of the store, which
 * waits for it, but not for long: `finished` runs when it is written or given up. Stop: a
 * database that is away is not waited for. Drain waits for the batch that is being written,
 * drain_all for all of them.
 */
void event_writer_finish(struct event_writer *w);
bool event_writer_has_finished(const struct event_writer *w);
void event_writer_stop(struct event_writer *w);
void event_writer_drain(struct event_writer *w);
void event_writer_drain_all(struct event_writer *w);

/* Look: a batch is being written. */
bool event_writer_is_busy(const struct event_writer *w);
