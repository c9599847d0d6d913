/* SPDX-License-Identifier: Apache-2.0 */
/* Leading is a row of the database. Whoever takes it ends the sessions of the
 * one before first: a process that was stopped holds locks in half a pipeline,
 * and no timeout of the server ends that.
 */
#include "controller/store/postgres/engine_postgres.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/postgres/tables.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

#define WRITER "kiln-controller writer"
#define READER "kiln-controller reader"
#define EVENTS "kiln-controller events"

/* After so long without a confirmed beat another controller may soon lead. */
#define SILENCE_US 7000000

/* By then another one leads for half a minute, and knows nothing of the nodes
 * whose agents still talk to this one.
 */
#define SILENCE_MOST_US 40000000

struct engine_postgres *
engine_postgres_of(struct engine *engine)
{
    return container_of(engine, struct engine_postgres, base);
}

/* --- leading ----------------------------------------------------------------- */

static int
end_other_writers(struct postgres *p, struct error *err)
{
    return postgres_exec(p,
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE datname = current_database() AND usename = current_user"
                         " AND application_name IN ('" WRITER "', '" EVENTS "')"
                         " AND pid <> pg_backend_pid()",
                         err);
}

static void
read_counters(struct engine_postgres *e, const PGresult *result, struct engine_counters *ret)
{
    *ret = (struct engine_counters){
        .epoch = postgres_int64(result, 0, 0),
        .revision = postgres_int64(result, 0, 2),
        .reserved = postgres_int64(result, 0, 3),
        .job_id = postgres_int64(result, 0, 4),
    };
    e->epoch = ret->epoch;
    e->batches = postgres_int64(result, 0, 1);
}

/* Raises the epoch, in a commit that waits for the standby: from then on what
 * can be read stays. $1 is the new holder, $2 the one that must be there.
 */
static int
raise_epoch(struct engine_postgres *e, struct postgres *p, const char *before,
            struct engine_counters *ret_counters, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r;

    postgres_add_text(&v, e->holder);
    postgres_add_text(&v, before);
    p->is_doubted = false;
    r = postgres_query(p,
                       "UPDATE kiln.counters SET epoch = epoch + 1, holder = $1::text"
                       " WHERE id = 1 AND (holder = $2::text OR holder = $1::text)"
                       " RETURNING epoch, batches, revision, reserved, job_id",
                       &v, &result, err);
    postgres_values_fini(&v);
    if (r == 0 && p->is_doubted)
        r = error_set(err, -EAGAIN, "database '%s': the wait for its standby was broken off",
                      e->where);
    if (r == 0 && PQntuples(result) == 0)
        r = error_set(err, -ESTALE, "database '%s': another controller leads", e->where);
    if (r == 0)
        read_counters(e, result, ret_counters);
    PQclear(result);
    return r;
}

/* 0 if the row of the leader still has this holder, else -ESTALE. */
static int
check_holder(struct engine_postgres *e, struct postgres *p, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r;

    postgres_add_text(&v, e->holder);
    r = postgres_query(p, "SELECT 1::int8 FROM kiln.leader WHERE id = 1 AND holder = $1::text", &v,
                       &result, err);
    postgres_values_fini(&v);
    if (r == 0 && PQntuples(result) == 0)
        r = error_set(err, -ESTALE, "database '%s': another controller leads", e->where);
    PQclear(result);
    return r;
}

int
engine_postgres_retake(struct engine_postgres *e, struct error *err)
{
    struct engine_counters counters;
    struct postgres *p = NULL;
    int r = postgres_connect(e->url, WRITER, &p, err);

    if (r < 0) /* it could be used once, and somebody will mend it */
        return error_wrap(err, -EAGAIN, "cannot connect again");
    if (r == 0)
        r = check_holder(e, p, err);
    if (r == 0)
        r = end_other_writers(p, err);
    if (r == 0)
        r = raise_epoch(e, p, e->holder, &counters, err);
    if (r == 0)
        r = engine_postgres_prepare(p, err);
    if (r < 0) {
        postgres_close(p);
        return r;
    }
    e->writer = p;
    return 0;
}

/* The counters have the holder of the last opening that came so far; the row of
 * the leader has this one's already.
 */
static int
take_counters(struct engine_postgres *e, struct engine_counters *ret_counters, struct error *err)
{
    PGresult *result = NULL;
    CLEANUP_FREE char *before = NULL;
    int r = end_other_writers(e->writer, err);

    if (r == 0)
        r = postgres_query(e->writer, "SELECT holder FROM kiln.counters WHERE id = 1", NULL,
                           &result, err);
    if (r == 0)
        before = xstrdup(PQntuples(result) > 0 ? postgres_text(result, 0, 0, NULL) : "");
    PQclear(result);
    if (r == 0)
        r = check_holder(e, e->writer, err);
    return r == 0 ? raise_epoch(e, e->writer, before, ret_counters, err) : r;
}

/* --- life ---------------------------------------------------------------------- */

/* The next controller need not wait until this one counts as silent. A successor
 * has the row at once; the others wait a little for it.
 */
void
engine_postgres_release(struct engine_postgres *e)
{
    struct postgres_values v = {0};
    CLEANUP_FREE char *successor = NULL;

    if (!e->leads || e->writer == NULL || atomic_load(&e->is_fenced))
        return;
    e->leads = false;
    atomic_store(&e->is_released, true);
    successor = engine_postgres_choose_successor(e);
    postgres_add_text(&v, e->holder);
    postgres_add_text(&v, successor != NULL ? ENGINE_POSTGRES_HANDOVER : "");
    postgres_add_text(&v, successor != NULL ? successor : e->place);
    (void)postgres_query(e->writer,
                         "WITH done AS (UPDATE kiln.leader SET holder = $2::text,"
                         " place = $3::text, beat = beat + 1"
                         " WHERE id = 1 AND holder = $1::text RETURNING 1)"
                         " SELECT pg_notify('" ENGINE_POSTGRES_CHANNEL "', '') FROM done",
                         &v, NULL, NULL);
    postgres_values_fini(&v);
}

void
engine_postgres_free(struct engine_postgres *e)
{
    engine_postgres_forget_controllers(e);
    postgres_close(e->writer);
    postgres_close(e->reader);
    pthread_cond_destroy(&e->wakes);
    pthread_mutex_destroy(&e->lock);
    free(e->place);
    free(e->name);
    free(e->directory);
    free(e->address);
    free(e->where);
    free(e->url);
    free(e);
}

static void
engine_postgres_close(struct engine *engine)
{
    struct engine_postgres *e = engine_postgres_of(engine);

    engine_postgres_stop_beat(e);
    engine_postgres_release(e);
    if (e->writer != NULL && !e->leads && !e->writer->is_late)
        engine_postgres_remove_row(e, e->writer);
    engine_postgres_free(e);
}

static int
engine_postgres_check(struct engine *engine, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    int64_t silent_us = clock_boottime_us() - atomic_load(&e->confirmed_us);

    if (atomic_load(&e->is_released))
        return error_set(err, -EAGAIN, "this controller has given the lead back");
    if (atomic_load(&e->is_fenced))
        return error_set(err, -ESTALE,
                         "database '%s' was taken over by another controller: only one may serve "
                         "it",
                         e->where);
    if (silent_us > SILENCE_MOST_US)
        return error_set(err, -ESTALE,
                         "database '%s' has confirmed nothing for %" PRId64 " s, and another "
                         "controller may lead: this one ends, to wait for the database",
                         e->where, silent_us / 1000000);
    if (silent_us > SILENCE_US)
        return error_set(err, -EAGAIN,
                         "database '%s' has confirmed nothing for %" PRId64 " s: check the server "
                         "and its synchronous standby",
                         e->where, silent_us / 1000000);
    return 0;
}

void
engine_postgres_stop(struct engine *engine)
{
    struct engine_postgres *e = engine_postgres_of(engine);

    pthread_mutex_lock(&e->lock);
    atomic_store(&e->stops, true);
    pthread_cond_broadcast(&e->wakes);
    pthread_mutex_unlock(&e->lock);
}

static int
engine_postgres_copies(struct engine *engine)
{
    return atomic_load(&engine_postgres_of(engine)->copies);
}

size_t
engine_postgres_backlog(struct engine *engine)
{
    (void)engine;
    return 0;
}

int
engine_postgres_checkpoint(struct engine *engine, struct error *err)
{
    (void)engine;
    (void)err;
    return 0;
}

static void
add_texts(const PGresult *result, struct strbuf *out)
{
    for (int i = 0; i < PQntuples(result); i++) {
        size_t length;
        const char *text = postgres_text(result, i, 0, &length);

        strbuf_add(out, text, length);
        strbuf_add_char(out, '\n');
    }
}

static int
engine_postgres_drop_row(struct engine *engine, const struct engine_lost_row *row,
                         struct strbuf *out, struct error *err)
{
    static const char *const of_object[] = {
        "DELETE FROM kiln.objects WHERE id = $1::int8 RETURNING body",
        "DELETE FROM kiln.deltas WHERE object = $1::int8 RETURNING patch",
    };
    static const char *const of_change[] = {
        "DELETE FROM kiln.deltas WHERE revision = $1::int8 RETURNING patch",
    };
    struct engine_postgres *e = engine_postgres_of(engine);
    const char *const *texts = row->is_lone_change ? of_change : of_object;
    struct postgres_values v = {0};
    int r = postgres_exec(e->writer, "BEGIN", err);

    postgres_add_int64(&v, row->is_lone_change ? row->revision : row->row);
    for (size_t i = 0; r == 0 && i < (row->is_lone_change ? 1U : 2U); i++) {
        PGresult *result = NULL;

        r = postgres_query(e->writer, texts[i], &v, &result, err);
        if (r == 0)
            add_texts(result, out);
        PQclear(result);
    }
    postgres_values_fini(&v);
    if (r == 0) /* a batch that no list has, so those that follow read all */
        r = postgres_exec(e->writer, "UPDATE kiln.counters SET batches = batches + 1", err);
    if (r == 0)
        r = postgres_exec(e->writer, "COMMIT", err);
    else
        (void)postgres_exec(e->writer, "ROLLBACK", NULL);
    e->batches += r == 0;
    return r;
}

static int
engine_postgres_raise_epoch(struct engine *engine, int64_t epoch, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    struct postgres_values v = {0};
    int r;

    if (epoch <= e->epoch)
        return 0;
    postgres_add_text(&v, e->holder);
    postgres_add_int64(&v, epoch);
    r = postgres_query(e->writer,
                       "UPDATE kiln.counters SET epoch = $2::int8"
                       " WHERE id = 1 AND holder = $1::text",
                       &v, NULL, err);
    postgres_values_fini(&v);
    if (r == 0)
        e->epoch = epoch;
    return r;
}

static const struct engine_ops engine_postgres_ops = {
    .apply = engine_postgres_apply,
    .backlog = engine_postgres_backlog,
    .checkpoint = engine_postgres_checkpoint,
    .finish_checkpoint = engine_postgres_checkpoint,
    .scan_open = engine_postgres_scan_open,
    .scan_next = engine_postgres_scan_next,
    .scan_close = engine_postgres_scan_close,
    .visit = engine_postgres_visit,
    .read_blob = engine_postgres_read_blob,
    .verify = engine_postgres_verify,
    .raise_epoch = engine_postgres_raise_epoch,
    .drop_row = engine_postgres_drop_row,
    .check = engine_postgres_check,
    .stop = engine_postgres_stop,
    .copies = engine_postgres_copies,
    .visit_controllers = engine_postgres_visit_controllers,
    .name_successor = engine_postgres_name_successor,
    .position = engine_postgres_position,
    .follow = engine_postgres_follow,
    .close = engine_postgres_close,
};

struct engine_postgres *
engine_postgres_make(const char *url, const char *place, const struct engine_ops *ops)
{
    struct engine_postgres *e = xnew(struct engine_postgres);
    pthread_condattr_t attributes;

    e->base.ops = ops;
    e->url = xstrdup(url);
    e->where = postgres_where(url);
    e->place = xstrdup(place);
    random_uuid(e->holder);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wakes, &attributes);
    pthread_condattr_destroy(&attributes);
    return e;
}

void
engine_postgres_pause(struct engine_postgres *e, int64_t milliseconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&e->lock);
    while (!atomic_load(&e->stops)
           && pthread_cond_timedwait(&e->wakes, &e->lock, &until) != ETIMEDOUT)
        continue;
    pthread_mutex_unlock(&e->lock);
}

int
engine_postgres_create(const char *url, bool anew, bool *ret_was_there, struct error *err)
{
    struct postgres *p = NULL;
    int r = postgres_connect(url, WRITER, &p, err);

    if (r == 0)
        r = tables_create(p, anew, ret_was_there, err);
    postgres_close(p);
    return r;
}

static int
take_lead(struct engine_postgres *e, const struct engine_waits *waits,
          struct engine_counters *ret_counters, struct error *err)
{
    int r = engine_postgres_await_lead(e, waits, err);

    if (r == 0) /* those that only wait are not ended by the one that leads */
        r = postgres_exec(e->writer, "SET application_name = '" WRITER "'; UNLISTEN *", err);
    if (r == 0)
        r = tables_upgrade(e->writer, err);
    if (r == 0)
        r = engine_postgres_make_changes(e->writer, err);
    if (r == 0)
        r = engine_postgres_make_events(e->writer, err);
    if (r == 0)
        r = take_counters(e, ret_counters, err);
    if (r == 0)
        r = engine_postgres_prepare(e->writer, err);
    if (r == 0 && waits != NULL && waits->self != NULL)
        r = engine_postgres_publish(e, waits->self, err);
    return r;
}

/* The last words of the leader before may still be under way, and hold locks; or
 * another controller is quicker.
 */
static int
bring_up(struct engine_postgres *e, const struct engine_waits *waits,
         struct engine_counters *ret_counters, struct error *err)
{
    struct error why = {0};
    int r;

    while (((r = take_lead(e, waits, ret_counters, &why)) == -EAGAIN || r == -ESTALE)
           && waits != NULL && waits->waits(&why, -1, waits->context)) {
        log_warning("Trying to lead again: %s", why.text);
        postgres_close(e->writer);
        e->writer = NULL;
    }
    if (r < 0)
        return error_set(err, r, "%s", why.text);
    r = postgres_connect(e->url, READER, &e->reader, err);
    if (r == 0)
        r = engine_postgres_start_beat(e, err);
    if (r == 0)
        log_info("This controller leads now, in the database '%s'", e->where);
    return r;
}

int
engine_postgres_open(const struct engine_postgres_settings *settings, struct engine **ret_engine,
                     struct engine_counters *ret_counters, struct error *err)
{
    struct engine_postgres *e =
        engine_postgres_make(settings->url, settings->place, &engine_postgres_ops);
    int r;

    if (settings->name != NULL && settings->waits != NULL) {
        e->name = xstrdup(settings->name);
        e->directory = xstrdup(settings->directory);
        e->address = xstrdup(settings->waits->self != NULL ? settings->waits->self->address : "");
    }
    r = bring_up(e, settings->waits, ret_counters, err);
    if (r < 0) {
        engine_postgres_close(&e->base);
        return r;
    }
    *ret_engine = &e->base;
    return 0;
}

static int
begin_snapshot(struct engine_postgres *e, struct engine_counters *ret_counters, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_exec(e->reader, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);

    if (r == 0)
        r = postgres_query(e->reader,
                           "SELECT epoch, batches, revision, reserved, job_id FROM kiln.counters",
                           NULL, &result, err);
    if (r == 0)
        read_counters(e, result, ret_counters);
    e->has_snapshot = r == 0;
    PQclear(result);
    return r;
}

int
engine_postgres_attach(const char *url, struct engine **ret_engine,
                       struct engine_counters *ret_counters, struct error *err)
{
    struct engine_postgres *e = engine_postgres_make(url, "", &engine_postgres_ops);
    int r = postgres_connect(url, READER, &e->reader, err);

    e->only_reads = true;
    if (r == 0)
        r = tables_check(e->reader, err);
    if (r == 0)
        r = begin_snapshot(e, ret_counters, err);
    if (r < 0) {
        engine_postgres_close(&e->base);
        return r;
    }
    *ret_engine = &e->base;
    return 0;
}
