/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: a change moves the pending head at once, records how to undo
 * that, and is gathered as operations for the engine.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/store/expiry.h"
#include "controller/store/memory/blob_counts.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/store_state.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/undo_log.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/map.h"

/* A delta is stored only while it is small beside the body and there are few
 * deltas: all of them are read and merged at every start.
 */
#define MAX_DELTAS     8
#define DELTA_OF_BODY  3 /* at most this fraction of the body: a third */
#define DELTAS_OF_BODY 1 /* all deltas together: at most the body's size */

struct store_txn {
    struct store *store;
    struct engine_counters counters; /* before the transaction */
    struct batch *batch;             /* with its undo log */
    struct batch *events;
    bool grows; /* adds to the disk */
    bool removes;
};

static void NORETURN
bug(const char *what)
{
    log_error("A bug in Kiln: %s", what);
    abort();
}

/* --- taking back ------------------------------------------------------------------------ */

/* The removal of an expired object was undone, so it expires again. */
static void
expire_again(struct store *s, struct object_index *objects, struct entry *entry)
{
    struct section *section = contents_section(&s->contents, object_index_kind(objects));

    if (section->expiry != NULL && entry->aging == NULL && entry->heads[STORE_PUBLISHED] != NULL)
        expiry_touch(section->expiry, entry, entry->heads[STORE_PUBLISHED]);
}

static void
undo_object(struct store *s, struct undo *undo)
{
    struct entry *entry = undo->entry;
    const struct change *c = change_log_get(s->change_log, change_log_end(s->change_log) - 1);
    const struct object *old = c->old_object;

    contents_set_head(&s->contents, entry, object_index_kind(undo->objects), STORE_PENDING,
                      old != NULL ? object_ref(old) : NULL);
    change_log_pop(s->change_log);
    free(entry->deltas);
    entry->row = undo->row;
    entry->deltas = undo->deltas;
    entry->n_deltas = undo->n_deltas;
    entry->delta_bytes = undo->delta_bytes;
    undo->deltas = NULL;
    expire_again(s, undo->objects, entry);
    change_log_release_entry(s->change_log, undo->objects, entry);
}

static void
take_back(struct store *s, struct undo *undo)
{
    switch (undo->what) {
    case UNDO_OBJECT:
        undo_object(s, undo);
        break;
    case UNDO_BLOB:
        blob_counts_set(s->contents.blobs, undo->name, undo->blob);
        break;
    case UNDO_SECRET:
        free(undo->secret != NULL ? map_put(s->contents.secrets, undo->name, undo->secret)
                                  : map_remove(s->contents.secrets, undo->name));
        undo->secret = NULL;
        break;
    }
}

void
store_undo(struct store *s, struct undo_log *log)
{
    while (log->count > 0) {
        take_back(s, &log->items[--log->count]);
        undo_free_one(&log->items[log->count]);
    }
    undo_log_fini(log);
}

/* --- a transaction ---------------------------------------------------------------------- */

struct store_txn *
store_begin(struct store *s)
{
    struct store_txn *txn = xnew(struct store_txn);

    if (s->txn != NULL)
        bug("a transaction is begun within another");
    txn->store = s;
    txn->counters = s->pending;
    txn->batch = batch_new();
    txn->events = batch_new();
    s->txn = txn;
    return txn;
}

int64_t
store_txn_revision(struct store_txn *txn)
{
    return txn->store->pending.revision + 1;
}

struct dictionary_objects *
store_txn_patterns(struct store_txn *txn)
{
    return txn->store->contents.dictionaries;
}

int64_t
store_txn_job_id(struct store_txn *txn)
{
    return ++txn->store->pending.job_id;
}

void
store_txn_raise(struct store_txn *txn, int64_t revision, int64_t job_id)
{
    struct engine_counters *pending = &txn->store->pending;

    if (revision > pending->revision)
        pending->revision = revision;
    if (job_id > pending->job_id)
        pending->job_id = job_id;
}

static struct undo *
add_undo(struct store_txn *txn)
{
    return undo_log_add(batch_undo(txn->batch));
}

static void
remember_entry(struct store_txn *txn, struct object_index *objects, struct entry *entry)
{
    struct undo *undo = add_undo(txn);

    undo->what = UNDO_OBJECT;
    undo->objects = objects;
    undo->entry = entry;
    undo->row = entry->row;
    undo->n_deltas = entry->n_deltas;
    undo->delta_bytes = entry->delta_bytes;
    if (entry->n_deltas > 0)
        undo->deltas = xmemdup(entry->deltas, entry->n_deltas * sizeof(entry->deltas[0]));
}

/* The batch that gets the operations for objects of that kind. */
static struct batch *
batch_for(struct store_txn *txn, const struct kind *kind)
{
    return kind_is(kind, KIND_TRANSIENT) ? txn->events : txn->batch;
}

static void
drop_deltas(struct batch *batch, struct entry *entry)
{
    for (uint32_t i = 0; i < entry->n_deltas; i++)
        batch_add(batch,
                  &(struct engine_op){
                      .verb = ENGINE_DROP_DELTA,
                      .row = entry->row,
                      .revision = entry->deltas[i],
                  },
                  NULL);
    free(entry->deltas);
    entry->deltas = NULL;
    entry->n_deltas = 0;
    entry->delta_bytes = 0;
}

static void
write_whole(struct batch *batch, const struct section *section, struct entry *entry,
            const struct object *object)
{
    struct engine_op op = {
        .verb = ENGINE_UPDATE,
        .row = entry->row,
        .revision = object->revision,
        .bytes = batch_text(batch, object),
        .length = object->length,
    };

    drop_deltas(batch, entry);
    if (entry->row == 0) {
        entry->row = object->revision;
        op.verb = ENGINE_INSERT;
        op.row = entry->row;
        op.kind = section->name;
        op.namespace = object->meta->namespace;
        op.name = object->meta->name;
    }
    batch_add(batch, &op, object);
}

static void
write_delta(struct batch *batch, struct entry *entry, const struct object *object,
            const char *delta, size_t length)
{
    batch_add(batch,
              &(struct engine_op){
                  .verb = ENGINE_ADD_DELTA,
                  .row = entry->row,
                  .revision = object->revision,
                  .bytes = batch_copy(batch, delta, length),
                  .length = length,
              },
              NULL);
    entry->deltas = xrealloc_array(entry->deltas, entry->n_deltas + 1, sizeof(entry->deltas[0]));
    entry->deltas[entry->n_deltas++] = object->revision;
    entry->delta_bytes += (uint32_t)length;
}

static bool
is_worth_a_delta(const struct entry *entry, const struct object *object, size_t length)
{
    return entry->row != 0 && entry->n_deltas < MAX_DELTAS
           && length * DELTA_OF_BODY <= object->length
           && entry->delta_bytes + length <= object->length * DELTAS_OF_BODY;
}

/* The events of a database are rows without changes. */
static bool
takes_deltas(const struct store *s, const struct kind *kind)
{
    return !kind_is(kind, KIND_TRANSIENT) || !store_is_in_database(s);
}

/* A renewed lease is not written; that the lease exists is. */
static bool
is_kept(const struct kind *kind, const struct entry *entry)
{
    return !kind_is(kind, KIND_VOLATILE) || entry->row == 0;
}

static void
write_put(struct store_txn *txn, const struct section *section, struct entry *entry,
          const struct object *object, const char *delta)
{
    struct batch *batch = batch_for(txn, object->kind);
    size_t length = delta != NULL ? strlen(delta) : 0;

    if (!is_kept(object->kind, entry))
        return;
    if (batch == txn->batch && object->meta->deleted_at_us == 0)
        txn->grows = true;
    if (delta != NULL && takes_deltas(txn->store, object->kind)
        && is_worth_a_delta(entry, object, length))
        write_delta(batch, entry, object, delta, length);
    else
        write_whole(batch, section, entry, object);
}

static void
write_removal(struct store_txn *txn, struct entry *entry, const struct object *last_state)
{
    struct batch *batch = batch_for(txn, last_state->kind);

    drop_deltas(batch, entry);
    batch_add(batch,
              &(struct engine_op){
                  .verb = ENGINE_DELETE,
                  .row = entry->row,
                  .revision = last_state->revision,
              },
              NULL);
    entry->row = 0;
}

/* The caller made the object with the revision that it was given; any other is
 * a bug.
 */
static void
take_revision(struct store_txn *txn, const struct object *object)
{
    if (object->revision != ++txn->store->pending.revision)
        bug("an object has a revision that is not the next one");
}

static void
move(struct store_txn *txn, struct section *section, struct entry *entry,
     const struct object *object, bool is_removal)
{
    struct store *s = txn->store;

    change_log_add(s->change_log, (struct change){
                                      .revision = object->revision,
                                      .at_us = clock_monotonic_us(s->settings.clock),
                                      .objects = section->objects,
                                      .entry = entry,
                                      .old_object = entry->heads[STORE_PENDING],
                                      .new_object = object,
                                      .is_removal = is_removal,
                                  });
    contents_set_head(&s->contents, entry, object->kind, STORE_PENDING,
                      is_removal ? NULL : object_ref(object));
}

void
store_txn_put(struct store_txn *txn, const struct object *object, const char *delta)
{
    struct section *section = contents_section(&txn->store->contents, object->kind);
    struct entry *entry =
        object_index_add(section->objects, object->meta->namespace, object->meta->name);

    take_revision(txn, object);
    remember_entry(txn, section->objects, entry);
    write_put(txn, section, entry, object, delta);
    move(txn, section, entry, object, false);
    object_unref(object);
}

void
store_txn_remove(struct store_txn *txn, const struct object *last_state)
{
    struct section *section = contents_section(&txn->store->contents, last_state->kind);
    struct entry *entry =
        object_index_find(section->objects, last_state->meta->namespace, last_state->meta->name);

    if (entry == NULL || entry->heads[STORE_PENDING] == NULL)
        bug("a removed object does not exist");
    take_revision(txn, last_state);
    txn->removes = true;
    remember_entry(txn, section->objects, entry);
    write_removal(txn, entry, last_state);
    move(txn, section, entry, last_state, true);
    object_unref(last_state);
}

static void
set_blob(struct store_txn *txn, const char *digest, struct stored_blob blob)
{
    struct undo *undo = add_undo(txn);

    undo->what = UNDO_BLOB;
    undo->name = xstrdup(digest);
    undo->blob = blob_counts_get(txn->store->contents.blobs, digest);
    blob_counts_set(txn->store->contents.blobs, digest, blob);
}

void
store_txn_put_blob(struct store_txn *txn, const char *digest, const void *bytes, size_t length)
{
    struct stored_blob blob = blob_counts_get(txn->store->contents.blobs, digest);
    struct engine_op op = {.verb = ENGINE_COUNT_BLOB};

    if (blob.count == 0) {
        op.verb = ENGINE_ADD_BLOB;
        op.name = batch_copy(txn->batch, digest, strlen(digest));
        op.bytes = batch_copy(txn->batch, bytes, length);
        op.length = length;
        blob.row = blob_counts_next_row(txn->store->contents.blobs);
        blob.revision = store_txn_revision(txn);
        txn->grows = true;
    }
    op.row = blob.row;
    op.count = ++blob.count;
    batch_add(txn->batch, &op, NULL);
    set_blob(txn, digest, blob);
}

void
store_txn_release_blob(struct store_txn *txn, const char *digest)
{
    struct stored_blob blob = blob_counts_get(txn->store->contents.blobs, digest);

    if (blob.count == 0) {
        log_warning("Blob '%s' is released but does not exist, ignoring", digest);
        return;
    }
    blob.count--;
    batch_add(txn->batch,
              &(struct engine_op){
                  .verb = blob.count > 0 ? ENGINE_COUNT_BLOB : ENGINE_DROP_BLOB,
                  .row = blob.row,
                  .count = blob.count,
              },
              NULL);
    set_blob(txn, digest, blob);
}

/* TAKES value; NULL: removes the secret. */
static void
set_secret(struct store *s, const char *name, char *value)
{
    free(value != NULL ? map_put(s->contents.secrets, name, value)
                       : map_remove(s->contents.secrets, name));
}

static void
remember_secret(struct store_txn *txn, const char *name)
{
    const char *value = store_find_secret(txn->store, name);
    struct undo *undo = add_undo(txn);

    undo->what = UNDO_SECRET;
    undo->name = xstrdup(name);
    undo->secret = value != NULL ? xstrdup(value) : NULL;
}

void
store_txn_put_secret(struct store_txn *txn, const char *name, const char *value)
{
    size_t length = strlen(value);

    txn->grows = true;
    remember_secret(txn, name);
    set_secret(txn->store, name, xstrdup(value));
    batch_add(txn->batch,
              &(struct engine_op){
                  .verb = ENGINE_PUT_SECRET,
                  .name = batch_copy(txn->batch, name, strlen(name)),
                  .bytes = batch_copy(txn->batch, value, length),
                  .length = length,
              },
              NULL);
}

void
store_txn_remove_secret(struct store_txn *txn, const char *name)
{
    if (store_find_secret(txn->store, name) == NULL)
        return;
    remember_secret(txn, name);
    set_secret(txn->store, name, NULL);
    batch_add(txn->batch,
              &(struct engine_op){
                  .verb = ENGINE_DROP_SECRET,
                  .name = batch_copy(txn->batch, name, strlen(name)),
              },
              NULL);
}

static void
txn_free(struct store_txn *txn)
{
    batch_free(txn->batch);
    batch_free(txn->events);
    txn->store->txn = NULL;
    free(txn);
}

void
store_rollback(struct store_txn *txn)
{
    struct store *s = txn->store;

    store_undo(s, batch_undo(txn->batch));
    s->pending = txn->counters;
    txn_free(txn);
}

void
store_commit(struct store_txn *txn, store_done_fn *done, void *context)
{
    struct store *s = txn->store;

    if (s->is_read_only && txn->grows && !txn->removes) {
        store_rollback(txn);
        store_refuse_later(s, done, context);
        return;
    }
    batch_keep_events(txn->batch, txn->events);
    batch_append(s->gathering, txn->batch);
    txn->batch = txn->events = NULL;
    batch_wait(s->gathering, done, context);
    s->committed = s->pending;
    s->committed_end = change_log_end(s->change_log);
    txn_free(txn);
    store_flush_soon(s);
}
