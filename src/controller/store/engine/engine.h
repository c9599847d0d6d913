/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the interface between the store and the database that makes its
 * batches durable
 *
 * An engine holds the keys and bodies of objects by row, their deltas, blobs,
 * secrets and the counters, and changes all of them in one transaction. It does
 * not interpret the objects. There are two: embedded SQLite, and PostgreSQL,
 * whose commits are on two disks where the server has a synchronous standby.
 *
 * Called by:  open, scan, visit and close: the store's thread, before and after
 *             the others run. apply, backlog, finish_checkpoint: the writer's.
 *             checkpoint: the checkpointer's. read_blob, verify: the reader's.
 *             check: the store's. stop: any.
 * Thread:     of each call: see Called by.
 * Invariant:  after COMMITTED the batch survives a crash of the machine (or,
 *             when relaxed, of the process); otherwise it was applied as a
 *             whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct engine;
struct engine_scan;
struct error;
struct strbuf;

enum engine_verb {
    ENGINE_INSERT,     /* row, revision, kind, namespace, name, bytes */
    ENGINE_UPDATE,     /* row, revision, bytes */
    ENGINE_DELETE,     /* row; its deltas are dropped by ops of their own */
    ENGINE_ADD_DELTA,  /* row, revision, bytes */
    ENGINE_DROP_DELTA, /* row, revision */
    ENGINE_ADD_BLOB,   /* row, name (the digest), count, bytes */
    ENGINE_COUNT_BLOB, /* row, count */
    ENGINE_DROP_BLOB,  /* row */
    ENGINE_PUT_SECRET, /* name, bytes */
    ENGINE_DROP_SECRET /* name */
};
#define ENGINE_VERBS (ENGINE_DROP_SECRET + 1)

/* All pointers are borrowed. */
struct engine_op {
    enum engine_verb verb;
    int64_t row;
    int64_t revision;
    int64_t count;
    const char *kind;
    const char *namespace;
    const char *name;
    const char *bytes;
    size_t length;
};

/* The database's counters. Reserved: no revision up to it may be issued again,
 * even if nothing is stored with it.
 */
struct engine_counters {
    int64_t epoch; /* rises with every open; only the last opener writes */
    int64_t revision;
    int64_t reserved;
    int64_t job_id;
};

/* Applied only if the database is at the engine's epoch and that revision. The last
 * one gives the lead back as soon as it is committed, where others wait for it.
 */
struct engine_batch {
    int64_t expected_revision;
    struct engine_counters after;
    const struct engine_op *ops;
    size_t n_ops;
    bool is_last;
};

enum engine_outcome {
    ENGINE_COMMITTED,
    ENGINE_REFUSED, /* there is no space; certainly rolled back */
    ENGINE_FENCED,  /* another process writes; nothing was applied */
    ENGINE_UNKNOWN, /* it may or may not have been applied */
};

struct engine_sum {
    int64_t value;
    bool is_there;
};

struct engine_delta {
    int64_t revision;
    struct engine_sum sum;
    const char *patch;
    size_t length;
};

/* A row and its deltas, oldest first. Borrowed until the next row. The texts
 * are as stored, valid or not.
 */
struct engine_row {
    int64_t row;
    int64_t revision; /* of the body */
    struct engine_sum sum;
    bool is_lone_change; /* a delta whose object, `row`, does not exist */
    const char *kind;
    const char *namespace;
    const char *name;
    const char *body;
    size_t length;
    const struct engine_delta *deltas;
    size_t n_deltas;
};

struct engine_visitor {
    void (*blob)(int64_t row, const char *digest, int64_t count, void *context);
    void (*secret)(const char *name, const char *value, void *context);
    void *context;
};

/* Where a check of the stored texts continues, and how much it reads. */
struct engine_slice {
    bool is_in_deltas;
    int64_t after; /* INT64_MIN: from the start */
    size_t rows;
    size_t bytes;
};

/* For a delta: its own revision and text, with the key of its object. */
typedef void engine_wrong_fn(const struct engine_row *row, void *context);

/* A controller of the database. All is borrowed. */
struct engine_controller {
    const char *name;      /* of its machine */
    const char *directory; /* of its state */
    const char *address;   /* "HOST:PORT"; "": only local clients */
    const char *release;
    const char *place;
    bool leads;
    int64_t since_s;   /* since when it leads, or waits; Unix time of the database */
    int64_t silent_ms; /* since its last word */
    int64_t revision;  /* that a standby has in memory; or as below */
};

/* In the place of the revision: a standby will read everything, or does so now. */
#define ENGINE_COLD    (-1)
#define ENGINE_LOADING (-2)

typedef void engine_controller_fn(const struct engine_controller *controller, void *context);

/* The batch up to which a controller that waits has followed the one that leads.
 * Holder and epoch tell whose batch it is: a database that was put back may have
 * others of the same number.
 */
struct engine_position {
    int64_t batch;
    int64_t epoch;
    int64_t revision;
    char holder[40];
};

/* Of all rows of objects and their deltas: how many, and the sums of their keys, as
 * remainders of ENGINE_TOTALS_MODULUS.
 */
#define ENGINE_TOTALS_MODULUS 1000000007
struct engine_totals {
    int64_t rows, row_sum;
    int64_t deltas, delta_sum;
};

/* A reader of changes: what it has, and does with them. Deltas: those that it knows of
 * the row. Gone comes before all changes. A negative result ends the reading. Totals:
 * of what it has at the end, which an engine that leads compares with the database.
 */
struct engine_changes {
    size_t (*deltas)(int64_t row, const int64_t **ret_deltas, void *context);
    void (*gone)(int64_t row, void *context);
    int (*changed)(const struct engine_row *row, void *context, struct error *err);
    void (*totals)(struct engine_totals *ret_totals, void *context);
    void *context;
};

struct engine {
    const struct engine_ops *ops;
};

struct engine_lost_row;

struct engine_ops {
    enum engine_outcome (*apply)(struct engine *engine, const struct engine_batch *batch,
                                 struct error *err);

    /* Backlog: bytes of log that should be copied back some time; 0 if the
     * engine has no log. Checkpoint copies most of it while batches go on;
     * finish_checkpoint copies the rest between two batches.
     */
    size_t (*backlog)(struct engine *engine);
    int (*checkpoint)(struct engine *engine, struct error *err);
    int (*finish_checkpoint)(struct engine *engine, struct error *err);

    /* Next: 1 with a row, 0 at the end, or a negative errno. */
    int (*scan_open)(struct engine *engine, struct engine_scan **ret_scan, struct error *err);
    int (*scan_next)(struct engine_scan *scan, struct engine_row *ret_row, struct error *err);
    void (*scan_close)(struct engine_scan *scan);
    int (*visit)(struct engine *engine, const struct engine_visitor *visitor, struct error *err);

    /* -ENOENT if there is no such blob. */
    int (*read_blob)(struct engine *engine, int64_t row, struct strbuf *out, struct error *err);

    /* Calls `wrong` for rows whose checksum differs, and advances the slice. 1
     * if there is more to check, 0 at the end.
     */
    int (*verify)(struct engine *engine, struct engine_slice *slice, engine_wrong_fn *wrong,
                  void *context, struct error *err);

    /* Raises the epoch to that of a store whose content this one takes over. */
    int (*raise_epoch)(struct engine *engine, int64_t epoch, struct error *err);

    /* Deletes a row, or a delta without a row, and appends its texts to `out`. */
    int (*drop_row)(struct engine *engine, const struct engine_lost_row *row, struct strbuf *out,
                    struct error *err);

    /* Check: 0 while this process leads and the database confirms that; -EAGAIN
     * if it has not for a while; -ESTALE: another process leads. Stop: writes
     * that wait for a database that is away fail from now on. Copies: disks that
     * have a batch when it counts as committed, as the database is set up; 0: not
     * known.
     */
    int (*check)(struct engine *engine, struct error *err);
    void (*stop)(struct engine *engine);
    int (*copies)(struct engine *engine);

    /* Visit: the controllers of the database, as they were some seconds ago. Name:
     * the controller of that place takes over after the last batch, or when this
     * engine is closed. Both are NULL where there is but one controller. The store's thread.
     */
    void (*visit_controllers)(struct engine *engine, engine_controller_fn *visit, void *context);
    void (*name_successor)(struct engine *engine, const char *place);

    /* Position: that of the snapshot of an attached engine. Follow: reads what has
     * changed since the position, and moves it; where that ends early, all after the
     * old position must be read again. An engine that leads reads up to its own last
     * batch. -ENODATA: the database has no list of the changes from there on. Both
     * are NULL where there is but one controller. The store's thread.
     */
    int (*position)(struct engine *engine, struct engine_position *ret_position, struct error *err);
    int (*follow)(struct engine *engine, struct engine_position *position,
                  const struct engine_changes *changes, struct error *err);
    void (*close)(struct engine *engine);
};

/* A row whose texts cannot be read: that of an object, or a delta by its revision. */
struct engine_lost_row {
    int64_t row;
    int64_t revision;
    bool is_lone_change;
};

/* Embedded SQLite: a file in the state directory. Relaxed: commits are fast and
 * survive a crash of the process, not of the machine; a damaged file is
 * replaced by a new one; and a batch may be left out without the batches after
 * it. -EUCLEAN: damaged. -ENOTSUP: made by a later version.
 */
struct engine_sqlite_settings {
    const char *path;
    bool is_relaxed;
    bool must_exist; /* -ENOTSUP if the file has no tables yet */
};
int engine_sqlite_open(const struct engine_sqlite_settings *settings, struct engine **ret_engine,
                       struct engine_counters *ret_counters, struct error *err);

/* How others reach the controller that leads. It is published for them, with a
 * key of this lead that proves who relays a connection.
 */
#define ENGINE_ADDRESS_SIZE 300
struct engine_leader {
    char address[ENGINE_ADDRESS_SIZE]; /* "HOST:PORT"; "": none */
    char tls_address[ENGINE_ADDRESS_SIZE];
    char key[65]; /* hexadecimal */
};

/* Waits: called about once a second while another controller leads, or the database
 * is away: true to go on waiting. It returns early when `wakes` can be read: the
 * lead may be free; -1: nothing tells so. Leader: another one leads than before; NULL: nobody
 * knows how to reach it. Revision: that this controller has in memory meanwhile, or
 * ENGINE_COLD, or ENGINE_LOADING. Follows: so many objects are in memory. Aside: has work done
 * by another thread, which makes all other calls of these then, and returns when it is done.
 * Is_over: asked by any thread while objects are read: true: this controller is to end, and
 * gives the lead back that it may have. These may be NULL, as may `self`.
 */
struct engine_waits {
    bool (*waits)(const struct error *why, int wakes, void *context);
    void (*leader)(const struct engine_leader *leader, void *context);
    int64_t (*revision)(void *context);
    void (*follows)(size_t n_objects, void *context);
    void (*aside)(void (*work)(void *arg), void *arg, void *context);
    bool (*is_over)(void *context);
    const struct engine_leader *self;
    void *context;
};

/* A PostgreSQL server, "postgresql://USER@HOST,HOST/DATABASE". Create makes the
 * tables; anew: also in the place of tables in which no cluster has run. Open leads from then on: it waits while another controller does, unless
 * `waits` is NULL (-EBUSY). `place` names the machine and its state directory:
 * one that was killed is followed at once by another in its place. Attach reads
 * one snapshot beside a leader; nothing can be applied. -ENOTSUP: this program
 * was built without PostgreSQL, or the server cannot be used; see postgres.h for
 * more codes.
 */
struct engine_postgres_settings {
    const char *url;
    const char *place;
    const char *name;      /* of the machine; NULL: not listed among the controllers */
    const char *directory; /* of its state */
    const struct engine_waits *waits;
};
int engine_postgres_create(const char *url, bool anew, bool *ret_was_there, struct error *err);
int engine_postgres_open(const struct engine_postgres_settings *settings,
                         struct engine **ret_engine, struct engine_counters *ret_counters,
                         struct error *err);
/* The events of a store in a database that this controller leads since that epoch: it
 * applies batches, which may be left out and wait for no disk, and scans what is there.
 * Only stop and close besides. It connects when it is used, and waits for a database that
 * is away until it is told to stop.
 */
struct engine *engine_postgres_events_new(const char *url, int64_t epoch, int64_t age_s);

int engine_postgres_attach(const char *url, struct engine **ret_engine,
                           struct engine_counters *ret_counters, struct error *err);
