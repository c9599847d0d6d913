/* SPDX-License-Identifier: Apache-2.0 */
/* At the start every row is made into an object. That takes processor time, so
 * all processors share it: each thread takes some rows from the one scan under
 * a lock, and makes their objects while other threads use the scan. The thread
 * that opens the store puts finished objects into the indexes in between. A row
 * that cannot be read is quarantined, and loading goes on.
 */
#include "controller/store/load.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/contents.h"
#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine.h"
#include "controller/store/expiry.h"
#include "controller/store/memory/blob_counts.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/quarantine.h"
#include "controller/store/row_decoder.h"
#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"

#define ROWS_AT_ONCE 128
#define MAX_THREADS  16

/* A finished object, and the facts about its row that its entry needs. */
struct loaded {
    int64_t row;
    struct section *section;
    const struct object *object;
    int64_t *deltas;
    uint32_t n_deltas;
    uint32_t delta_bytes;
};

struct loader {
    struct contents *contents;
    const struct load_end *end; /* or NULL */
    struct engine *engine;
    pthread_mutex_t lock; /* of the members below */
    struct engine_scan *scan;
    struct loaded *loaded;
    size_t n_loaded;
    size_t capacity;
    struct engine_op *discarded; /* rows to be deleted */
    size_t n_discarded;
    size_t discarded_capacity;
    pthread_t opener; /* alone touches the contents, except the quarantine */
    int result;
    struct error err;
};

/* Rows copied out of the scan; their texts are stored one after the other. */
struct portion {
    struct engine_row rows[ROWS_AT_ONCE];
    size_t n;
    struct loaded made[ROWS_AT_ONCE];
    struct strbuf text;
    struct engine_delta *deltas;
    size_t n_deltas;
    size_t capacity;
};

static void
put_text(struct portion *p, const char *text, size_t length)
{
    strbuf_add(&p->text, text, length);
    strbuf_add_char(&p->text, '\0');
}

static void
copy_row(struct portion *p, const struct engine_row *row)
{
    p->rows[p->n++] = *row;
    put_text(p, row->body, row->length);
    put_text(p, row->namespace, strlen(row->namespace));
    put_text(p, row->name, strlen(row->name));
    for (size_t i = 0; i < row->n_deltas; i++) {
        xgrow(p->deltas, p->n_deltas, p->capacity);
        p->deltas[p->n_deltas++] = row->deltas[i];
        put_text(p, row->deltas[i].patch, row->deltas[i].length);
    }
}

/* Sets the pointers into the text once it does not grow any more. */
static void
point_rows(struct portion *p)
{
    const char *text = p->text.text;
    struct engine_delta *delta = p->deltas;

    for (size_t i = 0; i < p->n; i++) {
        p->rows[i].body = text;
        text += p->rows[i].length + 1;
        p->rows[i].namespace = text;
        text += strlen(text) + 1;
        p->rows[i].name = text;
        text += strlen(text) + 1;
        p->rows[i].kind = p->made[i].section->name;
        p->rows[i].deltas = delta;
        for (size_t k = 0; k < p->rows[i].n_deltas; k++, delta++) {
            delta->patch = text;
            text += delta->length + 1;
        }
    }
}

/* The first failure is kept. */
static void
fail(struct loader *l, int r, const struct error *err)
{
    pthread_mutex_lock(&l->lock);
    if (l->result == 0) {
        l->result = r;
        l->err = *err;
    }
    pthread_mutex_unlock(&l->lock);
}

/* Quarantines a row of an unknown kind at once. The lock is held. */
static int
take_row(struct loader *l, struct portion *p, struct error *err)
{
    struct engine_row row;
    int r = l->engine->ops->scan_next(l->scan, &row, err);
    struct section *section;

    if (r <= 0)
        return r;
    section = row.is_lone_change ? NULL : contents_find_section(l->contents, row.kind);
    if (section == NULL) {
        quarantine_add(l->contents->quarantine, &row, NULL,
                       row.is_lone_change ? "this change belongs to no object"
                                          : "unknown kind; this release does not support it");
        return 1;
    }
    p->made[p->n] = (struct loaded){.row = row.row, .section = section};
    copy_row(p, &row);
    return 1;
}

static bool
is_given_up(const struct loader *l)
{
    return l->end != NULL && l->end->is_over(l->end->context);
}

/* Returns false if no rows are left or another thread has failed. */
static bool
take_portion(struct loader *l, struct portion *p)
{
    struct error err = {0};
    int r = 1;

    p->n = p->n_deltas = 0;
    strbuf_truncate(&p->text, 0);
    pthread_mutex_lock(&l->lock);
    while (r > 0 && l->result == 0 && p->n < ROWS_AT_ONCE)
        r = is_given_up(l) ? error_set(&err, -ECANCELED, "given up") : take_row(l, p, &err);
    pthread_mutex_unlock(&l->lock);
    if (r < 0)
        fail(l, r, &err);
    point_rows(p);
    return p->n > 0;
}

/* Unreadable objects of kinds whose owners create them again (leases, events)
 * are dropped.
 */
static bool
is_renewed(const struct kind *kind, const struct engine_row *row)
{
    return kind_is(kind, KIND_TRANSIENT) || (kind_is(kind, KIND_VOLATILE) && row->n_deltas == 0);
}

static void
discard(struct loader *l, const struct engine_row *row, const struct kind *kind, const char *why)
{
    log_error("%s '%s' cannot be read and is dropped; it will be created "
              "again (row %lld: %s)",
              kind->name, row->name, (long long)row->row, why);
    xgrow(l->discarded, l->n_discarded, l->discarded_capacity);
    l->discarded[l->n_discarded++] = (struct engine_op){
        .verb = ENGINE_DELETE,
        .row = row->row,
    };
}

static void
set_aside(struct loader *l, const struct engine_row *row, const struct loaded *made,
          const char *why)
{
    const struct kind *kind = object_index_kind(made->section->objects);

    pthread_mutex_lock(&l->lock);
    if (is_renewed(kind, row))
        discard(l, row, kind, why);
    else
        quarantine_add(l->contents->quarantine, row, kind, why);
    pthread_mutex_unlock(&l->lock);
}

static void
make(struct loader *l, const struct engine_row *row, struct row_decoder *decoder,
     struct loaded *made)
{
    struct error why = {0};
    int r = checksum_verify(row, &why);

    if (r == 0)
        r = row_decode(decoder, object_index_kind(made->section->objects), row, &made->object,
                       &why);
    if (r < 0) {
        set_aside(l, row, made, why.text);
        return;
    }
    if (row->n_deltas == 0)
        return;
    made->deltas = xnew_array(int64_t, row->n_deltas);
    made->n_deltas = (uint32_t)row->n_deltas;
    for (size_t i = 0; i < row->n_deltas; i++) {
        made->deltas[i] = row->deltas[i].revision;
        made->delta_bytes += (uint32_t)row->deltas[i].length;
    }
}

/* Which of the two rows is right is not known here; the first one is served. */
static void
set_twin_aside(struct loader *l, const struct loaded *loaded)
{
    const struct object *object = loaded->object;
    const struct engine_row row = {
        .row = loaded->row,
        .revision = object->revision,
        .kind = loaded->section->name,
        .namespace = object->meta->namespace != NULL ? object->meta->namespace : "",
        .name = object->meta->name,
        .body = "",
    };

    set_aside(l, &row, loaded, "the object is stored twice");
}

static void
place(struct loader *l, struct loaded *loaded)
{
    struct contents *c = l->contents;
    const struct object *object = loaded->object;
    const struct kind *kind = object_index_kind(loaded->section->objects);
    struct entry *entry =
        object_index_add(loaded->section->objects, object->meta->namespace, object->meta->name);

    if (entry->row != 0) {
        set_twin_aside(l, loaded);
        return;
    }
    entry->row = loaded->row;
    entry->deltas = loaded->deltas;
    entry->n_deltas = loaded->n_deltas;
    entry->delta_bytes = loaded->delta_bytes;
    loaded->deltas = NULL;
    contents_set_head(c, entry, kind, STORE_PENDING, object_ref(object));
    contents_set_head(c, entry, kind, STORE_PUBLISHED, object_ref(object));
    loaded->section->count++;
    if (loaded->section->expiry != NULL)
        expiry_touch(loaded->section->expiry, entry, object);
}

/* Places all objects that were handed in so far. */
static void
place_all(struct loader *l)
{
    struct loaded *loaded;
    size_t n;
    int r;

    pthread_mutex_lock(&l->lock);
    loaded = l->loaded;
    n = l->n_loaded;
    r = l->result;
    l->loaded = NULL;
    l->n_loaded = l->capacity = 0;
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            place(l, &loaded[i]);
        object_unref(loaded[i].object);
        free(loaded[i].deltas);
    }
    free(loaded);
}

static void
hand_in(struct loader *l, const struct portion *p)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < p->n; i++) {
        if (p->made[i].object == NULL)
            continue;
        xgrow(l->loaded, l->n_loaded, l->capacity);
        l->loaded[l->n_loaded++] = p->made[i];
    }
    pthread_mutex_unlock(&l->lock);
}

/* Each thread has its own dictionaries; only those of the opening thread are
 * kept.
 */
static struct dictionary_objects *
borrow_dictionaries(struct loader *l)
{
    return pthread_equal(pthread_self(), l->opener) ? l->contents->dictionaries
                                                    : dictionary_objects_new();
}

static void *
loader_main(void *arg)
{
    struct loader *l = arg;
    struct portion *p = xnew(struct portion);
    struct dictionary_objects *dictionaries = borrow_dictionaries(l);
    struct row_decoder *decoder = row_decoder_new(dictionaries);

    strbuf_init(&p->text);
    while (take_portion(l, p)) {
        for (size_t i = 0; i < p->n; i++)
            make(l, &p->rows[i], decoder, &p->made[i]);
        hand_in(l, p);
        if (pthread_equal(pthread_self(), l->opener))
            place_all(l);
    }
    row_decoder_free(decoder);
    if (dictionaries != l->contents->dictionaries)
        dictionary_objects_free(dictionaries);
    strbuf_fini(&p->text);
    free(p->deltas);
    free(p);
    return NULL;
}

/* Starts one thread fewer than there are processors; if none can be started,
 * this thread loads alone.
 */
static void
run_threads(struct loader *l)
{
    pthread_t threads[MAX_THREADS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int n = 0;

    while (n + 1 < processors && n < MAX_THREADS
           && thread_start(&threads[n], "load", loader_main, l) == 0)
        n++;
    (void)loader_main(l);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

static void
load_blob(int64_t row, const char *digest, int64_t count, void *context)
{
    const struct contents *c = context;

    blob_counts_set(c->blobs, digest, (struct stored_blob){.row = row, .count = count});
}

static void
load_secret(const char *name, const char *value, void *context)
{
    const struct contents *c = context;

    free(map_put(c->secrets, name, xstrdup(value)));
}

static int
drop_discarded(struct loader *l, const struct engine_counters *counters, struct error *err)
{
    const struct engine_batch batch = {
        .expected_revision = counters->revision,
        .after = *counters,
        .ops = l->discarded,
        .n_ops = l->n_discarded,
    };

    if (l->n_discarded == 0)
        return 0;
    return l->engine->ops->apply(l->engine, &batch, err) == ENGINE_COMMITTED ? 0 : err->code;
}

int
load_counts(struct contents *contents, struct engine *engine, struct error *err)
{
    const struct engine_visitor visitor = {load_blob, load_secret, contents};

    return engine->ops->visit(engine, &visitor, err);
}

/* A snapshot beside a leader cannot be written to. */
static int
refuse_discarded(const struct loader *l, struct error *err)
{
    if (l->n_discarded == 0)
        return 0;
    return error_set(err, -EUCLEAN, "%zu rows cannot be read", l->n_discarded);
}

int
load_objects(struct contents *contents, struct engine *engine,
             const struct engine_counters *counters, const struct load_end *end, struct error *err)
{
    struct loader l = {
        .contents = contents,
        .end = end,
        .engine = engine,
        .opener = pthread_self(),
    };
    int r = engine->ops->scan_open(engine, &l.scan, err);

    if (r < 0)
        return r;
    pthread_mutex_init(&l.lock, NULL);
    run_threads(&l);
    place_all(&l);
    pthread_mutex_destroy(&l.lock);
    engine->ops->scan_close(l.scan);
    if (l.result < 0)
        r = error_set(err, l.result, "%s", l.err.text);
    else
        r = counters != NULL ? drop_discarded(&l, counters, err) : refuse_discarded(&l, err);
    free(l.discarded);
    return r;
}

int
load_all(struct contents *contents, struct engine *engine, const struct engine_counters *counters,
         const struct load_end *end, struct error *err)
{
    int r = load_counts(contents, engine, err);

    return r == 0 ? load_objects(contents, engine, counters, end, err) : r;
}
