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

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/engine/engine.h"
#include "controller/store/lineage/run_chain.h"
#include "controller/store/store.h"

struct batch;
struct blob_counts;
struct entry;
struct expiry;
struct change_log;
struct serial_worker;
struct secondary_index;
struct map;
struct store_metrics;
struct dictionary_objects;
struct quarantine;
struct scrub;
struct object_index;
struct past_events;
struct disk_reserve;
struct statedir;
struct timer;
struct undo_log;
struct watchers;
struct writer;

/* The objects of one kind. */
struct section {
    struct object_index *objects;
    struct secondary_index **indexes; /* in the order of the kind's */
    unsigned n_indexes;
    char *name;            /* of the kind in the database: "jobs.batch", "pods" */
    size_t count;          /* of published objects */
    struct expiry *expiry; /* of transient kinds, or NULL */
};

struct store {
    struct store_settings settings; /* without `waits`, which is for the opening */
    char *address;                  /* where this controller serves, or "" */
    struct statedir *directory;
    struct section *sections; /* in the order of kinds[] */
    struct change_log *change_log;
    struct watchers *watchers;
    struct blob_counts *blobs;
    struct map *secrets;
    struct quarantine *quarantine;           /* rows that could not be read */
    struct dictionary_objects *dictionaries; /* for new objects */

    struct serial_worker *checkpointer;
    struct serial_worker *reader;
    struct writer *writer;
    struct writer *events; /* best effort */
    struct engine *engine; /* the writer's; the reader reads blobs and rows */
    struct engine *events_engine;

    struct engine_counters pending; /* includes those of the open transaction */
    struct engine_counters committed;
    int64_t opened_us; /* Unix time */
    int64_t opened_at; /* the revision found then */
    int64_t begun_at;  /* this opening issues revisions above it */
    int64_t epoch;
    bool was_closed;         /* the last opening ended in good order */
    atomic_bool is_given_up; /* what is being loaded for a standby */
    bool was_warm;           /* it had followed the controller that led before */
    struct run_chain runs;
    uint64_t committed_end;
    struct batch *gathering;
    struct batch *gathering_events;
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
    unsigned event_batches_left; /* before the last batch */
    struct timer *last_events;   /* how long it waits for them */
    store_done_fn *finished;     /* when the last batch is written; or NULL */
    void *finished_context;
    bool has_dropped_events;
    bool events_are_off;             /* their database has failed */
    struct past_events *past_events; /* of the leader before; or NULL */
    struct store_metrics *metrics;
};

/* How far revisions are reserved ahead of those in use. */
#define REVISIONS_RESERVED 65536

/* At most so many more are skipped when the last opening did not end in good
 * order.
 */
#define REVISIONS_SKIPPED (1 << 20)

/* How many job ids are skipped when the last opening did not end in good order.
 * Those that are issued need no write of their own, so the stored counter is the
 * start of the block.
 */
#define JOB_IDS_RESERVED 1000

int store_open_engine(const struct store_location *location, bool must_exist,
                      const struct engine_waits *waits, struct engine **ret_engine,
                      struct engine_counters *ret_counters, struct error *err);
struct section *store_section(const struct store *s, const struct kind *kind);
struct section *store_find_section(struct store *s, const char *name); /* NULL: unknown */
bool store_kind_is(const struct kind *kind, unsigned kind_flag);

/* Sets a head of the entry to the object, and takes over the reference. */
void store_set_head(struct store *s, struct entry *entry, const struct kind *kind,
                    enum store_head head, const struct object *object TAKES);

/* store_undo.c: undoes the changes, newest first, and empties the log. Its last
 * change of an object must be the last one of the change log.
 */
void store_undo(struct store *s, struct undo_log *log);

/* commit.c */
void store_check_engine(void *store);
void store_submit_batch(void *store); /* submits the gathered batch now */
void store_flush_soon(struct store *s);
void store_trim(void *store);
void store_on_committed(struct batch *batch, enum engine_outcome outcome, const struct error *err,
                        void *store);
void store_leave_events(void *store); /* the last batch waits for them no longer */
void store_on_events_committed(struct batch *batch, enum engine_outcome outcome,
                               const struct error *err, void *store);
void store_drain(struct store *s); /* waits for everything that is pending */

/* opening.c: begins a run, and skips revisions and job ids that an earlier one
 * may have issued after what is stored.
 */
int store_begin_run(struct store *s, struct engine_counters *counters, struct error *err);

/* load.c. Counts: blobs and secrets, which replace those that were loaded before.
 * Objects: counters of NULL say that nothing may be written (-EUCLEAN: a row should
 * be dropped).
 */
int store_load(struct store *s, struct engine *engine, const struct engine_counters *counters,
               struct error *err);
int store_load_counts(struct store *s, struct engine *engine, struct error *err);
int store_load_objects(struct store *s, struct engine *engine,
                       const struct engine_counters *counters, struct error *err);

/* follow.c: opens the engine, and meanwhile keeps the objects of the one that leads.
 * The store then has all objects, whether it could follow or not.
 */
int store_follow(struct store *s, struct engine_counters *ret_counters, struct error *err);
