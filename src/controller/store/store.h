/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - every API object at its revision, durable in SQLite, and the log of
 * changes that watches follow
 *
 * There are two heads. A transaction is checked against the *pending* head and
 * joins the batch that is being gathered; a writer thread commits batches; only
 * then are their changes *published*. Every reply to a client waits for that
 * commit (store_commit's `done`, or store_when_durable for replies from reads).
 * A commit that fails ends the daemon, so that memory and disk never differ.
 * The exception is a commit that was certainly rolled back because the disk is
 * full: it rolls the whole pending head back, and all waiters are called with
 * -ENOSPC.
 *
 * Owns:       one reference to every object, and to those in the log.
 * Called by:  the apiserver.
 * Thread:     the loop's; the writer thread is private to the store.
 * Invariant:  revisions are unique, rising, and never issued twice, also
 *             after a crash. Job ids likewise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/directory/location.h"
#include "controller/store/engine/engine.h"
#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct clock;
struct error;
struct kind;
struct loop;
struct metric_registry;
struct object;
struct run_chain;
struct dictionary_objects;
struct engine_waits;
struct store;
struct store_txn;
struct store_watch;
struct strbuf;

/* Secrets of the store itself: its runs (lineage/run_chain.h), and the revisions
 * that openings have skipped (lineage/revision_ranges.h).
 */
#define STORE_RUNS              "cluster/runs"
#define STORE_SKIPPED_REVISIONS "cluster/skipped-revisions"

struct store_settings {
    struct loop *loop;
    struct clock *clock;
    struct store_location location;
    const struct engine_waits *waits; /* while another controller leads; NULL: it is an error */
    int64_t follow_pause_us;          /* until what has changed is read again then; 0: 2 s */
    bool must_exist;                  /* otherwise a new store is made: see initialize.h */
    size_t log_bytes;                 /* of objects that only the log holds; 0: 64 MiB */
    int64_t log_age_s;                /* 0: 300 */
    int64_t event_age_s;              /* objects of transient kinds expire then; 0: 3600 */
    size_t event_limit;               /* the oldest expire if there are more; 0: 50000 */
    int64_t reserve_bytes;            /* kept free for when the disk is full */
    struct metric_registry *metrics;  /* or NULL */

    /* Called for every move of the pending head, forward or back, and for each
     * loaded object (before NULL); after NULL: a removal. It must not change
     * the store. May be NULL.
     */
    void (*moved)(const struct object *before, const struct object *after, void *context);
    void *moved_context;
    /* Called when a commit has failed; the daemon must then exit. */
    void (*failed)(const struct error *err, void *context);
    void *context;
};

/* Life. Open: -EBUSY if another process holds the directory (the message names
 * it), -EUCLEAN if the database fails SQLite's own check (a row that cannot be
 * read is quarantined instead, see below), -ENOTSUP for a schema of a later
 * version or a network file system, -ENOENT if there is no store and
 * must_exist. Close waits for the last commit and calls its waiters, so it must
 * be called before they are freed; it also ends all watches.
 */
int store_open(const struct store_settings *settings, struct store **ret_store, struct error *err);
void store_close(struct store *store);

/* Results are borrowed until the loop's next turn; take a reference to
 * keep one.
 */
const struct object *store_find(const struct store *store, enum store_head head,
                                const struct kind *kind, const char *namespace, const char *name);
const struct object *store_find_job_id(const struct store *store, enum store_head head, int64_t id);
int64_t store_revision(const struct store *store); /* the published one */

/* Opened_at: the revision found when the store was opened. Begun_at: this
 * opening issues revisions above that one. Was_closed: the opening before this
 * one ended in good order, so the store has all of it. Epoch: the number of this
 * opening, which rises with each opening of the same files. Runs: the openings
 * by random numbers (lineage/run_chain.h), of which store_run is this one's.
 * Durable: the revision and job id that are on the disk now.
 */
int64_t store_opened_at(const struct store *store);
int64_t store_begun_at(const struct store *store);
bool store_was_closed(const struct store *store);
int64_t store_epoch(const struct store *store);
uint64_t store_run(const struct store *store);
const struct run_chain *store_runs(const struct store *store);
void store_durable(const struct store *store, int64_t *ret_revision, int64_t *ret_job_id);
int64_t store_oldest_revision(const struct store *store); /* in the log */
bool store_is_read_only(const struct store *store);       /* the disk is full */
bool store_waits(const struct store *store);              /* the database is silent; any thread */

/* Disks that have what is acknowledged; 0: not known. A store in the state
 * directory has one by its nature.
 */
int store_copies(const struct store *store);

/* Whether all objects of the kind are in memory: those of transient kinds are read from a
 * database while the store is already used. Until then only new ones may be made.
 */
bool store_has_read(const struct store *store, const struct kind *kind);
bool store_is_in_database(const struct store *store);
size_t store_count(const struct store *store, const struct kind *kind);

/* The controllers of a store in a database, of which all but one wait, as they
 * were some seconds ago; or the only one. Name: the controller of that place takes
 * over when this store is closed.
 */
#define CONTROLLER_SILENT_MS 15000 /* it counts as silent then */
void store_visit_controllers(const struct store *store, engine_controller_fn *visit, void *context);
void store_name_successor(struct store *store, const char *place);

/* Visitors must not change the store.
 *
 * List visits published objects in the order of (namespace, name), as they were
 * at `revision` (0: now), starting after the key `after` ("namespace/name" or
 * "name"; NULL: from the start), until the visitor returns false. -ESTALE: the
 * log no longer reaches back that far. Visit_index visits the objects with that
 * value, in no order, at the present revision.
 */
int store_list(struct store *store, const struct kind *kind, const char *namespace,
               const char *after, int64_t revision, store_visit_fn *visit, void *context);
void store_visit_index(const struct store *store, const struct kind *kind,
                       unsigned index, /* number among the kind's indexes */
                       enum store_head head, const char *value, store_visit_fn *visit,
                       void *context);

/* Rows that could not be read when the store was opened. They stay in the
 * database, are not objects, and never change while the store is open; any
 * thread may make these calls. Is_damaged: such a row has that key.
 * Names_damaged: such a row contains the uid, as its own or its owner's. Drop:
 * deletes a row of a closed store, and appends its text to `out`. Since: the
 * number of rows that the scrub has found damaged later (loop thread).
 */
struct store_damaged {
    int64_t row;
    char *key; /* "pods/NAMESPACE/NAME", "nodes/NAME" */
    char *why;
    const struct kind *kind; /* NULL: not known */
    int64_t last_revision;
    bool is_lone_change; /* a delta without an object */
};
size_t store_count_damaged(const struct store *store);
size_t store_count_damaged_since(const struct store *store);
const struct store_damaged *store_damaged(const struct store *store, size_t i);
bool store_is_damaged(const struct store *store, const struct kind *kind, const char *namespace,
                      const char *name);
bool store_names_damaged(const struct store *store, const char *uid);
int store_drop_damaged(const struct store_location *location, const struct store_damaged *damaged,
                       struct strbuf *out, struct error *err);

/* The changes of a transaction get consecutive revisions and are
 * published together. After store_begin, for each change: get its revision,
 * make the object with that, and put it. `delta` is the change as a JSON merge
 * patch against the object's pending state; it is stored instead of the whole
 * body if it is much smaller. Merged and normalized it must make exactly the
 * object; NULL: store the whole body. Putting a wrong revision is a bug and
 * aborts. Objects that are made with the store's dictionaries
 * (lib/api/object/dictionary_objects.h) take less memory. Rollback drops all changes,
 * revisions included. Commit: `done` (or NULL) runs once, on the loop, when the
 * outcome is known: 0, all is durable and published; -ENOSPC, all was refused;
 * -EIO, the store has failed or is closing and the outcome is unknown. Only one
 * transaction at a time may be open, and it must end within one turn of the
 * loop. An object of a KIND_VOLATILE kind is durable when it is created and
 * when it is removed, not when it changes; KIND_TRANSIENT objects are stored on
 * a best-effort basis.
 */
struct store_txn *store_begin(struct store *store);
int64_t store_txn_revision(struct store_txn *txn);
struct dictionary_objects *store_txn_patterns(struct store_txn *txn);
int64_t store_txn_job_id(struct store_txn *txn); /* new, never issued before */

/* From now on no revision or id up to these is issued. */
void store_txn_raise(struct store_txn *txn, int64_t revision, int64_t job_id);
void store_txn_put(struct store_txn *txn, const struct object *object TAKES, const char *delta);
void store_txn_remove(struct store_txn *txn, const struct object *last_state TAKES);
void store_rollback(struct store_txn *txn TAKES);
typedef void store_done_fn(int outcome, void *context);
void store_commit(struct store_txn *txn TAKES, store_done_fn *done, void *context);

/* `done` runs when everything that is pending now is durable, with an outcome
 * as for a commit. If nothing is pending, it runs at once, within this call.
 */
void store_when_durable(struct store *store, store_done_fn *done, void *context);

/* The daemon is about to stop: writes no longer wait for a database that is away. A last
 * batch has all that is pending, and gives the lead back where another controller waits
 * for it; what comes later is never written. `done` runs when that batch has an outcome.
 */
void store_finish(struct store *store, store_done_fn *done, void *context);

/* Blobs: contents by digest, with a count of the objects that name them. A blob
 * is put in the transaction that creates such an object, and released in the
 * one that removes it. Get reads on the reader's thread and calls back on the
 * loop; length 0 and NULL if there is no such blob.
 */
void store_txn_put_blob(struct store_txn *txn, const char *digest, const void *bytes,
                        size_t length);
void store_txn_release_blob(struct store_txn *txn, const char *digest);
typedef void store_blob_fn(const void *bytes, size_t length, void *context);
void store_get_blob(struct store *store, const char *digest, store_blob_fn *got, void *context);

/* Small secrets of the controller itself (node enrolment digests, token keys),
 * by name; the API never serves them. Values are copied; the result of find is
 * borrowed.
 */
void store_txn_put_secret(struct store_txn *txn, const char *name, const char *value);
void store_txn_remove_secret(struct store_txn *txn, const char *name);
const char *store_find_secret(const struct store *store, const char *name);

/* Visits the secrets whose names begin with the prefix, in no order, and
 * returns their number.
 */
typedef void store_secret_fn(const char *name, const char *value, void *context);
size_t store_visit_secrets(const struct store *store, const char *prefix, store_secret_fn *visit,
                           void *context);

/* Watch: changes of a kind after `revision`; those in the log at once, later
 * ones as they are published. Each change has the old and the new object,
 * either of which may be NULL; all watchers get the same objects. `index` and
 * `value`: only changes where one side has that value (index -1: all changes).
 * Such watchers are found by hash, so ten thousand watchers of one node each
 * cost nothing per change. The changes in the log are reported before
 * store_watch returns, after *ret_watch is set, so that the callback may end
 * the watch. -ESTALE: the log does not reach back that far. The old object of a
 * removal is the last state with which it was removed.
 */
int store_watch(struct store *store, const struct kind *kind, int64_t revision, int index,
                const char *value, store_change_fn *changed, void *context,
                struct store_watch **ret_watch);
void store_unwatch(struct store_watch *watch);

/* Drops the log up to that revision, as a compaction does. */
void store_compact(struct store *store, int64_t revision);
