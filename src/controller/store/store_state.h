/* SPDX-License-Identifier: Apache-2.0 */
/* store_state.h - struct store, for the files of this folder only
 *
 * store.c opens and closes; txn.c changes the pending head; commit.c hands
 * batches to the writer and publishes what was committed.
 *
 * Thread:     the loop's.
 * Invariant:  the end of the change log is the pending head, `committed_end`
 *             is the end of what transactions have committed, and
 *             `change_log_published` the end of what is durable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/contents.h"
#include "controller/store/engine/engine.h"
#include "controller/store/opening.h"
#include "controller/store/store.h"
#include "controller/store/transient.h"

struct batch;
struct change_log;
struct event_writer;
struct serial_worker;
struct store_metrics;
struct scrub;
struct past_events;
struct disk_reserve;
struct statedir;
struct timer;
struct undo_log;
struct watchers;
struct writer;

struct store {
    struct store_settings settings; /* without `waits`, which is for the opening */
    char *address;                  /* where this controller serves, or "" */
    struct statedir *directory;
    struct contents contents;
    struct change_log *change_log;
    struct watchers *watchers;

    struct serial_worker *checkpointer;
    struct serial_worker *reader;
    struct writer *writer;
    struct event_writer *events; /* best effort */
    struct transient transient;
    struct engine *engine; /* the writer's; the reader reads blobs and rows */

    struct engine_counters pending; /* includes those of the open transaction */
    struct engine_counters committed;
    int64_t opened_us; /* Unix time */
    struct opening opening;
    bool was_warm; /* it had followed the controller that led before */
    uint64_t committed_end;
    struct batch *gathering;
    struct batch *under_way; /* being written, and owned by the writer */
    struct batch *refused;   /* only waiters that are still to get -ENOSPC */
    struct batch *lost;      /* its outcome is unknown; or NULL */
    uint64_t under_way_end;
    int64_t under_way_since_us;
    struct store_txn *txn; /* the open one, or NULL */
    struct timer *flush;
    struct timer *trim;
    struct timer *checks;    /* whether this process still leads */
    bool waits_for_database; /* which has confirmed nothing for a while */
    bool is_flushing;        /* the flush timer runs */
    bool has_failed;
    bool is_read_only;     /* the disk is full */
    bool is_database_full; /* said, until a batch is committed */
    uint64_t n_refused;
    struct disk_reserve *reserve;
    struct scrub *scrub;
    struct timer *try_reserve; /* NULL until the disk was full once */
    bool is_draining;          /* the last batch is written, or was; nothing comes after it */
    bool wants_last; /* it is written after the one that is under way, and the events of now */
    store_done_fn *finished; /* when the last batch is written; or NULL */
    void *finished_context;
    struct past_events *past_events; /* of the leader before; or NULL */
    struct store_metrics *metrics;
};

/* txn.c: undoes the changes, newest first, and empties the log. Its last change of an
 * object must be the last one of the change log.
 */
void store_undo(struct store *s, struct undo_log *log);

/* commit.c. Become_read_only: called at the start, too, if the reserve cannot be held.
 * Refuse_later queues `done`, to be called soon with -ENOSPC.
 */
void store_become_read_only(struct store *s, const char *why);
void store_refuse_later(struct store *s, store_done_fn *done, void *context);
void store_check_engine(void *store);
void store_submit_batch(void *store); /* submits the gathered batch now */
void store_flush_soon(struct store *s);
void store_trim(void *store);
void store_on_committed(struct batch *batch, enum engine_outcome outcome, const struct error *err,
                        void *store);
void store_try_last(void *store);  /* the last batch waits for events no longer */
void store_drain(struct store *s); /* waits for everything that is pending */
