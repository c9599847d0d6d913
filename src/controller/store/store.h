/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - every API object at its revision, durable in SQLite, and the log
 * of changes that watches follow
 *
 * Two heads. A transaction is checked against the *pending* head and joins the
 * batch that is being gathered; a writer thread commits batches; only then is
 * it *published*. Whatever a client is told waits for that commit
 * (store_commit's `done`, or store_when_durable for what was only looked up).
 * A commit that fails ends the daemon, so that memory and disk never differ;
 * but one that was rolled back for certain, because the disk is full, takes
 * the whole pending head back, and everybody who waits is told so.
 *
 * Owns:       one reference to every object, and to those the log remembers.
 * Called by:  the apiserver.
 * Thread:     the loop's; the writer thread is private to the room.
 * Invariant:  revisions are unique, rising, and never issued twice, also
 *             after a crash. Job ids likewise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/memory/store_types.h"
#include "lib/base/macro.h"

struct arena;
struct clock;
struct error;
struct kind;
struct loop;
struct metric_registry;
struct object;
struct dictionary_objects;
struct store;
struct store_txn;
struct store_watch;
struct strbuf;

struct store_settings {
    struct loop *loop;
    struct clock *clock;
    const char *directory;
    bool must_exist;     /* or a new store is begun: see initialize.h */
    size_t log_bytes;    /* of the objects that only the log keeps; 0: 64 MiB */
    int64_t log_age_s;   /* 0: 300 */
    int64_t event_age_s; /* objects of transient kinds go then; 0: 3600 */
    size_t event_limit;  /* or the oldest when there are more; 0: 50000 */
    int64_t reserve_bytes; /* kept free for the day when the disk is full */
    struct metric_registry *metrics; /* or NULL */

    /* Every move of the pending head, as it is made or taken back, and each
     * object that is loaded (nothing was before it); either may be NULL. Or
     * NULL. It changes nothing in the store.
     */
    void (*moved)(const struct object *before,
                  const struct object *after,
                  void *context);
    void (*failed)(const struct error *err, void *context); /* then exit */
    void *context;
};

/* Life. Open: -EBUSY when another process holds the directory (it is named),
 * -EUCLEAN when the database fails SQLite's own check (a row that cannot be
 * read is kept aside instead, see below), -ENOTSUP for a schema of a later
 * version or a network file system, -ENOENT when there is no store and
 * must_exist. Close waits for the last commit and tells those who wait for it,
 * so it comes before they are freed; watches end with it.
 */
int store_open(const struct store_settings *settings,
               struct store **ret_store,
               struct error *err);
void store_close(struct store *store);

/* Look. Borrowed until the loop's next turn; take a reference to keep it. */
const struct object *store_find(const struct store *store,
                                enum store_head head,
                                const struct kind *kind,
                                const char *namespace,
                                const char *name);
const struct object *
store_find_job_id(const struct store *store, enum store_head head, int64_t id);
int64_t store_revision(const struct store *store); /* the published one */

/* The state of the disk when the store was opened, and its state now; and the
 * number of that opening, which rises with each one of the same files.
 */
int64_t store_opened_at(const struct store *store);
int64_t store_epoch(const struct store *store);
void store_durable(const struct store *store,
                   int64_t *ret_revision,
                   int64_t *ret_job_id);
int64_t store_oldest_revision(const struct store *store); /* the log's */
bool store_is_read_only(const struct store *store);       /* the disk is full */
size_t store_count(const struct store *store, const struct kind *kind);

/* The visitors here change nothing in the store.
 *
 * Visits published objects in the order of (namespace, name), as they were at
 * `revision` (0: now), from behind the key `after` ("namespace/name" or
 * "name", NULL: the start), until the visitor returns false. -ESTALE: the log
 * no longer reaches back that far. With an index, visits those of that value
 * in no order, at the present revision.
 */
int store_list(struct store *store,
               const struct kind *kind,
               const char *namespace,
               const char *after,
               int64_t revision,
               store_visit_fn *visit,
               void *context);
void store_visit_index(const struct store *store,
                       const struct kind *kind,
                       unsigned index, /* of the kind's */
                       enum store_head head,
                       const char *value,
                       store_visit_fn *visit,
                       void *context);

/* Rows that could not be read when the store was opened. They are kept as they
 * are, are no objects, and never change while the store is open; these calls
 * may be made by any thread. Is damaged: such a row has that key; names: the
 * uid stands in one, as its own or its owner's. Drop: of a store that is
 * closed; what stood in the row is added to `out`. Since:
 * rows that were damaged on the disk later, as far as they were found (loop).
 */
struct store_damaged {
    int64_t row;
    char *key; /* "pods/NAMESPACE/NAME", "nodes/NAME" */
    char *why;
    const struct kind *kind; /* or NULL: not known */
    int64_t last_revision;
    bool is_lone_change; /* not an object, but a change of none */
};
size_t store_count_damaged(const struct store *store);
size_t store_count_damaged_since(const struct store *store);
const struct store_damaged *store_damaged(const struct store *store, size_t i);
bool store_is_damaged(const struct store *store,
                      const struct kind *kind,
                      const char *namespace,
                      const char *name);
bool store_names_damaged(const struct store *store, const char *uid);
int store_drop_damaged(const char *directory,
                       const struct store_damaged *damaged,
                       struct strbuf *out,
                       struct error *err);

/* Change. A transaction's changes get consecutive revisions and are published
 * together. Begin, then for each change ask for the revision that it will have,
 * make the object with it, and put it. `delta`: the change as a JSON merge
 * patch against the object's pending state, kept instead of the whole body when
 * it is much smaller; merged and normalized it must make exactly the object;
 * NULL: the whole. Putting the wrong revision is a bug and aborts. Objects are
 * best made beside the dictionaries (lib/api/object/dictionaries.h), which
 * makes them small. Rollback forgets all of it, revisions included. Commit:
 * done (or NULL) runs once, on the loop, when the outcome is known: 0, it is
 * durable and published; -ENOSPC, it was refused and nothing of it is there;
 * -EIO, the store has failed or closes and nobody knows. One transaction at a
 * time, and within one turn of the loop. An object of a KIND_VOLATILE kind is
 * durable when it is made and when it is removed, not when it changes;
 * KIND_TRANSIENT is best effort.
 */
struct store_txn *store_begin(struct store *store);
int64_t store_txn_revision(struct store_txn *txn);
struct dictionary_objects *store_txn_patterns(struct store_txn *txn);
int64_t store_txn_job_id(struct store_txn *txn); /* a new one; never again */

/* No revision or id up to these is issued any more. */
void store_txn_raise(struct store_txn *txn, int64_t revision, int64_t job_id);
void store_txn_put(struct store_txn *txn,
                   const struct object *object TAKES,
                   const char *delta);
void store_txn_remove(struct store_txn *txn,
                      const struct object *last_state TAKES);
void store_rollback(struct store_txn *txn TAKES);
typedef void store_done_fn(int outcome, void *context);
void
store_commit(struct store_txn *txn TAKES, store_done_fn *done, void *context);

/* `done` runs when everything pending now is durable, or with an outcome as
 * of a commit; at once, from within, when nothing is pending.
 */
void
store_when_durable(struct store *store, store_done_fn *done, void *context);

/* Blobs: content by digest, counted by the objects that name them. Put within
 * the transaction that creates the object; released with it. Get reads on the
 * writer's side and calls back on the loop; length 0 and NULL when there is
 * none.
 */
void store_txn_put_blob(struct store_txn *txn,
                        const char *digest,
                        const void *bytes,
                        size_t length);
void store_txn_release_blob(struct store_txn *txn, const char *digest);
typedef void store_blob_fn(const void *bytes, size_t length, void *context);
void store_get_blob(struct store *store,
                    const char *digest,
                    store_blob_fn *got,
                    void *context);

/* Small secrets of the controller's own (node enrolment digests, token keys),
 * by name; never served. Values are copied; find is borrowed.
 */
void store_txn_put_secret(struct store_txn *txn,
                          const char *name,
                          const char *value);
void store_txn_remove_secret(struct store_txn *txn, const char *name);
const char *store_find_secret(const struct store *store, const char *name);

/* Those whose name begins so, and how many; in no order. */
typedef void
store_secret_fn(const char *name, const char *value, void *context);
size_t store_visit_secrets(const struct store *store,
                           const char *prefix,
                           store_secret_fn *visit,
                           void *context);

/* Watch: changes of a kind behind `revision`, those in the log at once, then
 * as they are published. Every change names what was and what is, either may
 * be NULL; the same objects go to every watcher. `index` and `value`: only
 * changes where one side has that value (index -1: all), found by hash, so
 * that ten thousand watchers of one node each cost nothing per change.
 * Those in the log are told before store_watch returns, with *ret_watch set,
 * so that the callback may end the watch. -ESTALE: the log does not reach back
 * that far. A removal's old object is the last state it was removed with.
 */
int store_watch(struct store *store,
                const struct kind *kind,
                int64_t revision,
                int index,
                const char *value,
                store_change_fn *changed,
                void *context,
                struct store_watch **ret_watch);
void store_unwatch(struct store_watch *watch);

/* Forgets the log up to that revision, as a compaction does. */
void store_compact(struct store *store, int64_t revision);
