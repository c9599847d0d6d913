/* SPDX-License-Identifier: Apache-2.0 */
/* A controller that waits has the objects of the one that leads in memory: it reads
 * all of them once, and then, every two seconds, those that have changed. When it
 * leads, only the rest remains to be read. Whatever does not fit (a list of changes
 * with a gap, a row that cannot be read, a database that was put back) has it read
 * everything instead, as a controller that has not waited does.
 *
 * Blobs and secrets are read when it leads: they are small, and their contents stay
 * in the database.
 */
#include "controller/store/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/store/contents.h"
#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine.h"
#include "controller/store/expiry.h"
#include "controller/store/load.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/memory/row_index.h"
#include "controller/store/opening.h"
#include "controller/store/quarantine.h"
#include "controller/store/row_decoder.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/base/time_share.h"

/* Until the next reading: so many times the processor time that this one took. Where
 * there was something to read the pause is not too short, for most objects change
 * several times within seconds.
 */
#define PAUSE_SHARE   30
#define PAUSE_MOST_US 10000000

/* Until everything is read again, after it could not be followed. */
#define AGAIN_US      30000000
#define UNREADABLE_US 600000000

struct follower {
    const struct follow_settings *settings;
    struct contents *contents;
    const struct engine_waits *waits; /* those of the settings */
    struct engine *snapshot;          /* attached beside the leader, or NULL */
    bool is_warm;                     /* the store has the objects as of the position */
    bool is_loading;                  /* by `loader`, which has all of this meanwhile */
    atomic_bool is_loaded;
    atomic_bool is_given_up; /* what is being loaded */
    pthread_t loader;
    int load_result;
    int64_t load_us; /* processor time */
    struct error load_error;
    struct engine_position position;
    struct row_index *rows;
    struct row_decoder *decoder;
    int64_t next_us; /* monotonic: not before */
    size_t n_changed;
};

/* --- objects in memory ------------------------------------------------------------ */

/* An entry that was only just made has no object yet. */
static void
take_out(struct contents *c, struct section *section, struct entry *entry)
{
    const struct kind *kind = object_index_kind(section->objects);

    if (entry->heads[STORE_PUBLISHED] != NULL) {
        contents_set_head(c, entry, kind, STORE_PENDING, NULL);
        contents_set_head(c, entry, kind, STORE_PUBLISHED, NULL);
        section->count--;
    }
    if (section->expiry != NULL)
        expiry_forget(section->expiry, entry);
    object_index_remove(section->objects, entry);
}

static void
forget(struct follower *f)
{
    struct contents *c = f->contents;
    struct entry *entry;

    for (unsigned i = 0; i < n_kinds; i++)
        while ((entry = object_index_first(c->sections[i].objects)) != NULL)
            take_out(c, &c->sections[i], entry);
    quarantine_free(c->quarantine);
    c->quarantine = quarantine_new();
    row_index_free(f->rows);
    row_decoder_free(f->decoder);
    f->rows = NULL;
    f->decoder = NULL;
    f->is_warm = false;
}

static size_t
known_deltas(int64_t row, const int64_t **ret_deltas, void *context)
{
    const struct follower *f = context;
    const struct entry *entry = row_index_find(f->rows, row);

    if (entry == NULL)
        return 0;
    *ret_deltas = entry->deltas;
    return entry->n_deltas;
}

static void
row_is_gone(int64_t row, void *context)
{
    struct follower *f = context;
    struct entry *entry = row_index_remove(f->rows, row);

    f->n_changed++;
    if (entry != NULL)
        take_out(f->contents, contents_section(f->contents, entry->heads[STORE_PUBLISHED]->kind),
                 entry);
}

static void
keep_deltas(struct entry *entry, const struct engine_row *row)
{
    free(entry->deltas);
    entry->deltas = row->n_deltas > 0 ? xnew_array(int64_t, row->n_deltas) : NULL;
    entry->n_deltas = (uint32_t)row->n_deltas;
    entry->delta_bytes = 0;
    for (size_t i = 0; i < row->n_deltas; i++) {
        entry->deltas[i] = row->deltas[i].revision;
        entry->delta_bytes += (uint32_t)row->deltas[i].length;
    }
}

/* The entry of the row; NULL if another row has its name. */
static struct entry *
entry_of(struct follower *f, struct section *section, int64_t row, const struct object *object)
{
    struct entry *known = row_index_find(f->rows, row);
    struct entry *entry =
        object_index_add(section->objects, object->meta->namespace, object->meta->name);

    if (entry == known)
        return entry;
    if (known != NULL || entry->row != 0)
        return NULL;
    entry->row = row;
    row_index_add(f->rows, row, entry);
    return entry;
}

static int
put(struct follower *f, struct section *section, const struct engine_row *row,
    const struct object *object, struct error *err)
{
    struct contents *c = f->contents;
    const struct kind *kind = object_index_kind(section->objects);
    struct entry *entry = entry_of(f, section, row->row, object);

    if (entry == NULL)
        return error_set(err, -EUCLEAN, "the object of row %" PRId64 " is stored twice", row->row);
    keep_deltas(entry, row);
    section->count += entry->heads[STORE_PUBLISHED] == NULL;
    contents_set_head(c, entry, kind, STORE_PENDING, object_ref(object));
    contents_set_head(c, entry, kind, STORE_PUBLISHED, object_ref(object));
    if (section->expiry != NULL)
        expiry_touch(section->expiry, entry, object);
    return 0;
}

static int
row_has_changed(const struct engine_row *row, void *context, struct error *err)
{
    struct follower *f = context;
    struct section *section =
        row->is_lone_change ? NULL : contents_find_section(f->contents, row->kind);
    CLEANUP(object_unrefp) const struct object *object = NULL;
    int r;

    f->n_changed++;
    if (section == NULL)
        return error_set(err, -EUCLEAN, "row %" PRId64 " is of no known kind", row->row);
    r = checksum_verify(row, err);
    if (r == 0)
        r = row_decode(f->decoder, object_index_kind(section->objects), row, &object, err);
    return r == 0 ? put(f, section, row, object, err) : r;
}

static void
add_up(struct engine_totals *t, const struct entry *entry)
{
    t->rows++;
    t->row_sum = (t->row_sum + entry->row) % ENGINE_TOTALS_MODULUS;
    t->deltas += entry->n_deltas;
    for (uint32_t i = 0; i < entry->n_deltas; i++)
        t->delta_sum = (t->delta_sum + entry->deltas[i]) % ENGINE_TOTALS_MODULUS;
}

static void
tell_totals(struct engine_totals *ret_totals, void *context)
{
    const struct follower *f = context;
    const struct contents *c = f->contents;

    for (unsigned i = 0; i < n_kinds; i++)
        for (struct entry *e = object_index_first(c->sections[i].objects); e != NULL;
             e = e->next[0])
            add_up(ret_totals, e);
}

static int
read_changes(struct follower *f, struct engine *engine, struct error *err)
{
    const struct engine_changes changes = {known_deltas, row_is_gone, row_has_changed, tell_totals,
                                           f};

    return engine->ops->follow(engine, &f->position, &changes, err);
}

/* --- while another controller leads ------------------------------------------------ */

static void
detach(struct follower *f)
{
    if (f->snapshot != NULL)
        f->snapshot->ops->close(f->snapshot);
    f->snapshot = NULL;
}

static int
attach(struct follower *f, struct error *err)
{
    struct engine_counters counters;

    return f->snapshot != NULL ? 0
                               : engine_postgres_attach(f->settings->location->database,
                                                        &f->snapshot, &counters, err);
}

static void
index_rows(struct follower *f)
{
    struct contents *c = f->contents;

    f->rows = row_index_new();
    for (unsigned i = 0; i < n_kinds; i++)
        for (struct entry *e = object_index_first(c->sections[i].objects); e != NULL;
             e = e->next[0])
            row_index_add(f->rows, e->row, e);
}

/* The waits may be told so by a signal, while this controller reads. */
static bool
is_over(void *context)
{
    struct follower *f = context;
    const struct engine_waits *waits = f->waits;

    return atomic_load(&f->is_given_up)
           || (waits != NULL && waits->is_over != NULL && waits->is_over(waits->context));
}

/* A leader sets aside what cannot be read, so that is left to it. */
static int
read_snapshot(struct follower *f, struct error *err)
{
    const struct load_end end = {is_over, f};
    struct contents *c = f->contents;
    int r;

    detach(f);
    r = attach(f, err);
    if (r == 0)
        r = f->snapshot->ops->position(f->snapshot, &f->position, err);
    if (r < 0)
        return r;
    r = load_objects(c, f->snapshot, NULL, &end, err);
    if (r == 0 && quarantine_count(c->quarantine) > 0)
        r = error_set(err, -EUCLEAN, "%zu rows cannot be read", quarantine_count(c->quarantine));
    if (r < 0) {
        forget(f);
        return r;
    }
    index_rows(f);
    f->decoder = row_decoder_new(c->dictionaries);
    f->is_warm = true;
    log_info("This controller follows the one that leads, with %zu objects in memory",
             row_index_count(f->rows));
    return 0;
}

static int
read_rest(struct follower *f, struct error *err)
{
    int r = attach(f, err);

    if (r == 0)
        r = read_changes(f, f->snapshot, err);
    if (r == 0 || r == -EAGAIN) /* the next session goes on from the position */
        return r;
    log_info("This controller does not follow any more the one that leads: %s", err->text);
    forget(f);
    return r;
}

static int64_t
pause_us(const struct follower *f, int r, int64_t took_us)
{
    int64_t least = f->settings->pause_us;
    int64_t pause = took_us * PAUSE_SHARE;

    if (r < 0)
        return r == -EAGAIN ? 0 : r == -EUCLEAN ? UNREADABLE_US : AGAIN_US;
    if (f->n_changed == 0)
        return 0;
    return pause < least ? least : pause > PAUSE_MOST_US ? PAUSE_MOST_US : pause;
}

static void
has_read(struct follower *f, int r, int64_t took_us, const struct error *err)
{
    if (r < 0) {
        log_debug("cannot follow: %s", err->text);
        detach(f);
    }
    f->next_us = clock_monotonic_us(&clock_system) + pause_us(f, r, took_us);
    if (f->waits->follows != NULL)
        f->waits->follows(f->is_warm ? row_index_count(f->rows) : 0, f->waits->context);
}

static void *
load_snapshot(void *arg)
{
    struct follower *f = arg;

    f->load_result = read_snapshot(f, &f->load_error);
    f->load_us = time_share_thread_cpu_us();
    atomic_store(&f->is_loaded, true);
    return NULL;
}

/* All objects of a large cluster take a minute, in which this controller still tells that
 * it is there, and notices who leads.
 */
static void
begin_loading(struct follower *f)
{
    f->load_error = (struct error){0};
    atomic_store(&f->is_loaded, false);
    f->is_loading = thread_start(&f->loader, "kiln-follow", load_snapshot, f) == 0;
    if (!f->is_loading)
        has_read(f, -EAGAIN, 0, &(struct error){.text = "cannot start a thread"});
}

static void
end_loading(struct follower *f)
{
    if (!f->is_loading)
        return;
    pthread_join(f->loader, NULL);
    f->is_loading = false;
    has_read(f, f->load_result, f->load_us, &f->load_error);
}

static void
follow_once(struct follower *f)
{
    int64_t began_us = time_share_thread_cpu_us();
    struct error err = {0};
    int r;

    if (f->is_loading && atomic_load(&f->is_loaded))
        end_loading(f);
    if (f->is_loading || clock_monotonic_us(&clock_system) < f->next_us)
        return;
    f->n_changed = 0;
    if (!f->is_warm) {
        begin_loading(f);
        return;
    }
    r = read_rest(f, &err);
    has_read(f, r, time_share_thread_cpu_us() - began_us, &err);
}

static bool
wait_and_follow(const struct error *why, int wakes, void *context)
{
    struct follower *f = context;

    if (!f->waits->waits(why, wakes, f->waits->context))
        return false;
    if (wakes >= 0) /* the database is there */
        follow_once(f);
    return true;
}

static void
tell_leader(const struct engine_leader *leader, void *context)
{
    const struct follower *f = context;

    f->waits->leader(leader, f->waits->context);
}

static int64_t
revision_of(void *context)
{
    const struct follower *f = context;

    return f->is_loading ? ENGINE_LOADING : f->is_warm ? f->position.revision : ENGINE_COLD;
}

/* --- when this controller leads ------------------------------------------------------ */

/* The epoch is raised, so nobody else changes anything. */
static bool
take_over(struct follower *f, struct engine *engine)
{
    int64_t began_us = clock_monotonic_us(&clock_system);
    struct error err = {0};
    int r;

    f->n_changed = 0;
    if (!f->is_warm)
        return false;
    r = read_changes(f, engine, &err);
    if (r < 0) {
        log_info("What this controller has followed cannot be used, so it reads everything: %s",
                 err.text);
        return false;
    }
    log_info("Took over with %zu objects in memory, and read %zu that had changed, in %" PRId64
             " ms",
             row_index_count(f->rows), f->n_changed,
             (clock_monotonic_us(&clock_system) - began_us) / 1000);
    return true;
}

static int
load(struct follower *f, struct engine *engine, const struct engine_counters *counters,
     bool *ret_was_warm, struct error *err)
{
    int64_t began_us = clock_monotonic_us(&clock_system);
    const struct load_end end = {is_over, f};
    int r;

    end_loading(f);
    detach(f);
    *ret_was_warm = take_over(f, engine);
    if (*ret_was_warm)
        return load_counts(f->contents, engine, err);
    forget(f);
    r = load_all(f->contents, engine, counters, &end, err);
    if (r == 0 && f->waits != NULL && f->settings->location->database != NULL)
        log_info("Read all objects in %" PRId64 " ms",
                 (clock_monotonic_us(&clock_system) - began_us) / 1000);
    return r;
}

int
follow_open(const struct follow_settings *settings, struct engine **ret_engine,
            struct engine_counters *ret_counters, bool *ret_was_warm, struct error *err)
{
    const struct engine_waits *waits = settings->waits;
    struct follower f = {.settings = settings, .contents = settings->contents, .waits = waits};
    const struct engine_waits follows = {
        .waits = wait_and_follow,
        .leader = waits != NULL && waits->leader != NULL ? tell_leader : NULL,
        .revision = revision_of,
        .self = waits != NULL ? waits->self : NULL,
        .context = &f,
    };
    int r = opening_engine(settings->location, settings->must_exist,
                           waits != NULL ? &follows : NULL, ret_engine, ret_counters, err);

    if (r == 0)
        r = load(&f, *ret_engine, ret_counters, ret_was_warm, err);
    atomic_store(&f.is_given_up, f.is_loading);
    end_loading(&f);
    detach(&f);
    row_index_free(f.rows);
    row_decoder_free(f.decoder);
    return r;
}
