/* SPDX-License-Identifier: Apache-2.0 */
/* A leader raises a count every two seconds; a candidate takes its place when the
 * count has stood still for ten by the candidate's own clock. Clocks of two
 * machines are never compared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/postgres/engine_postgres.h"
#include "controller/store/postgres/tables.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"

#define BEAT_MS    2000
#define STANDS_US  10000000
#define SUCCEED_US 3000000 /* a successor that was named has so long */
#define OFFERED_MS 500     /* between two looks at that */
#define NOTE_EVERY 150     /* beats between two looks at the standbys */
#define TRIM_EVERY 15      /* beats between two removals of old changes */

struct lead {
    char *holder;
    char *place;
    int64_t beat;
    bool is_told; /* how to reach it, to who waits */
};

static void
lead_fini(struct lead *l)
{
    free(l->holder);
    free(l->place);
    *l = (struct lead){0};
}

static int
read_lead(struct postgres *p, struct lead *ret, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_query(p, "SELECT holder, place, beat FROM kiln.leader WHERE id = 1", NULL,
                           &result, err);

    if (r == 0 && PQntuples(result) == 0)
        r = error_set(err, -EUCLEAN,
                      "database '%s' has lost its row of kiln.leader: restore a backup", p->where);
    if (r == 0)
        *ret = (struct lead){
            .holder = xstrdup(postgres_text(result, 0, 0, NULL)),
            .place = xstrdup(postgres_text(result, 0, 1, NULL)),
            .beat = postgres_int64(result, 0, 2),
        };
    PQclear(result);
    return r;
}

/* 1 if this controller has taken the place of that leader, 0 if another one was
 * quicker, or the leader is there again. In a place of one's own a count proves
 * nothing, for its directory is locked.
 */
static int
take(struct engine_postgres *e, const struct lead *from, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int n, r;

    postgres_add_text(&v, e->holder);
    postgres_add_text(&v, e->place);
    postgres_add_text(&v, from->holder);
    postgres_add_int64(&v, from->beat);
    r = postgres_query(e->writer,
                       "UPDATE kiln.leader SET holder = $1::text, place = $2::text,"
                       " beat = beat + 1 WHERE id = 1"
                       " AND (holder = $1::text OR (holder = $3::text"
                       " AND (beat = $4::int8 OR place = $2::text)))"
                       " RETURNING 1::int8",
                       &v, &result, err);
    n = r == 0 ? PQntuples(result) : 0;
    postgres_values_fini(&v);
    PQclear(result);
    return r < 0 ? r : n;
}

static bool
is_same(const struct lead *a, const struct lead *b)
{
    return a->holder != NULL && strcmp(a->holder, b->holder) == 0 && a->beat == b->beat;
}

/* Nobody leads, or a controller that was killed did, whose state directory this
 * one has locked.
 */
static bool
is_free(const struct engine_postgres *e, const struct lead *l)
{
    return l->holder[0] == '\0' || strcmp(l->holder, e->holder) == 0
           || strcmp(l->place, e->place) == 0;
}

static int
connect_candidate(struct engine_postgres *e, const struct engine_waits *waits, struct error *err)
{
    int r = postgres_connect_aside(e->url, "kiln-controller candidate", waits, e->has_looked,
                                   &e->writer, err);

    return r == 0 ? postgres_exec(e->writer, "LISTEN " ENGINE_POSTGRES_CHANNEL, err) : r;
}

static int
read_anew(struct engine_postgres *e, const struct engine_waits *waits, struct lead *ret,
          struct error *err)
{
    int r = e->writer != NULL ? 0 : connect_candidate(e, waits, err);

    if (r == 0)
        r = tables_check(e->writer, err);
    return r == 0 ? read_lead(e->writer, ret, err) : r;
}

/* The leader publishes its address a little later than it leads. */
static void
report_leader(struct engine_postgres *e, const struct engine_waits *waits, struct lead *seen)
{
    struct engine_leader leader = {0};
    int r;

    if (waits == NULL || waits->leader == NULL || seen->is_told)
        return;
    r = engine_postgres_read_address(e->writer, seen->holder, &leader);
    if (r < 0 && r != -ENOENT)
        return;
    seen->is_told = r == 0;
    waits->leader(r == 0 ? &leader : NULL, waits->context);
}

static bool
is_same_holder(const struct lead *a, const struct lead *b)
{
    return a->holder != NULL && strcmp(a->holder, b->holder) == 0;
}

static bool
is_offered(const struct lead *l)
{
    return l->holder != NULL && strcmp(l->holder, ENGINE_POSTGRES_HANDOVER) == 0;
}

/* How long a leader may stand still before another takes its place. */
static int64_t
patience_us(const struct lead *l)
{
    return is_offered(l) ? SUCCEED_US : STANDS_US;
}

static int64_t
revision_of(const struct engine_waits *waits)
{
    return waits != NULL && waits->revision != NULL ? waits->revision(waits->context) : ENGINE_COLD;
}

/* While the database was away the leader could not raise its count, so the time
 * counts anew from when it can be read again.
 */
static int
try_to_lead(struct engine_postgres *e, const struct engine_waits *waits, struct lead *seen,
            int64_t *since_us, struct error *err)
{
    struct lead now = {0};
    int64_t asked_us;
    int r = read_anew(e, waits, &now, err);

    if (r < 0) {
        lead_fini(seen);
        return r;
    }
    if (!is_same(seen, &now)) {
        now.is_told = seen->is_told && is_same_holder(seen, &now);
        lead_fini(seen);
        *seen = now;
        *since_us = clock_boottime_us();
    } else {
        lead_fini(&now);
    }
    if (is_free(e, seen) || clock_boottime_us() - *since_us > patience_us(seen)) {
        asked_us = clock_boottime_us();
        r = take(e, seen, err);
        if (r > 0) /* others count from here, and not from when this one began to wait */
            atomic_store(&e->confirmed_us, asked_us);
    }
    if (r == 0)
        r = engine_postgres_note_waiting(e, e->writer, revision_of(waits));
    if (r == 0)
        error_set(err, -EBUSY, "database '%s': the controller of %s leads", e->where, seen->place);
    return r;
}

/* A controller that has waited does not end when a password is changed, or while
 * one of two servers is being set up.
 */
static bool
passes(const struct engine_postgres *e, int r)
{
    return r == -EAGAIN || (e->has_looked && (r == -EACCES || r == -ENOENT));
}

static void
note_refusal(struct engine_postgres *e, int r, const struct error *why)
{
    bool is_refused = r == -EACCES || r == -ENOENT;

    if (is_refused && !e->is_refused)
        log_warning("Waiting to lead, which is not possible now: %s", why->text);
    e->is_refused = is_refused;
    e->has_looked |= r == 0;
}

/* False if the wait is to end. One that does not wait for a leader still waits for the
 * successor that the last one has named, which may be gone. A notification that came with
 * the answer to the last question leaves nothing to read, so it is looked for first.
 */
static bool
wait_once(struct engine_postgres *e, const struct engine_waits *waits, const struct lead *seen,
          const struct error *why)
{
    if (waits == NULL && is_offered(seen))
        engine_postgres_pause(e, OFFERED_MS);
    if (waits == NULL)
        return is_offered(seen);
    if (e->writer != NULL && postgres_take_notices(e->writer))
        return true;
    return waits->waits(why, e->writer != NULL ? postgres_descriptor(e->writer) : -1,
                        waits->context);
}

int
engine_postgres_await_lead(struct engine_postgres *e, const struct engine_waits *waits,
                           struct error *err)
{
    struct lead seen = {0};
    struct error why = {0};
    int64_t since_us = 0;
    int r;

    while ((r = try_to_lead(e, waits, &seen, &since_us, &why)) == 0 || passes(e, r)) {
        note_refusal(e, r, &why);
        if (r < 0) {
            postgres_close(e->writer);
            e->writer = NULL;
        }
        if (r == 0)
            report_leader(e, waits, &seen);
        if (!wait_once(e, waits, &seen, &why)) {
            r = why.code;
            break;
        }
    }
    lead_fini(&seen);
    e->leads = r > 0;
    return r > 0 ? 0 : error_set(err, r, "%s", why.text);
}

/* --- the beat -------------------------------------------------------------------- */

/* 1 if this controller leads still, 0 if not. It may be that the answer is read
 * long after it came, so the time before the question counts.
 */
static int
beat(struct engine_postgres *e, struct postgres *p, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int n, r;

    postgres_add_text(&v, e->holder);
    p->is_doubted = false;
    r = postgres_query(p,
                       "UPDATE kiln.leader SET beat = beat + 1 WHERE id = 1 AND holder = $1::text"
                       " RETURNING 1::int8",
                       &v, &result, err);
    n = r == 0 ? PQntuples(result) : 0;
    postgres_values_fini(&v);
    PQclear(result);
    return r < 0 ? r : n > 0 && p->is_doubted ? -EAGAIN : n;
}

/* Tells when commits are on one disk only, and when they no longer are. */
static void
note_copies(struct engine_postgres *e, struct postgres *p)
{
    PGresult *result = NULL;
    int copies;

    if (postgres_query(p, "SELECT (current_setting('synchronous_standby_names') <> '')::int::int8",
                       NULL, &result, NULL)
        < 0)
        return;
    copies = postgres_int64(result, 0, 0) != 0 ? 2 : 1;
    PQclear(result);
    if (copies == 1 && atomic_load(&e->copies) != 1)
        log_warning("The database '%s' has no synchronous standby: what is acknowledged is on one "
                    "disk only (synchronous_standby_names)",
                    e->where);
    else if (copies == 2 && atomic_load(&e->copies) == 1)
        log_info("The database '%s' has a synchronous standby again", e->where);
    atomic_store(&e->copies, copies);
}

/* The session's life: one beat, and now and then a look at the standbys. */
static void
beat_once(struct engine_postgres *e, struct postgres **p, unsigned count)
{
    int r = *p != NULL ? 0 : postgres_connect(e->url, "kiln-controller beat", p, NULL);
    int64_t asked_us = clock_boottime_us();

    if (r == 0)
        r = beat(e, *p, NULL);
    if (r > 0) {
        atomic_store(&e->confirmed_us, asked_us);
        if (count % NOTE_EVERY == 0 || atomic_load(&e->copies) == 0)
            note_copies(e, *p);
        if (engine_postgres_note_leading(e, *p) == -EAGAIN) {
            postgres_close(*p);
            *p = NULL;
        } else if (e->name != NULL && count % TRIM_EVERY == 0) {
            engine_postgres_trim_changes(*p);
        }
        return;
    }
    if (r == 0 && !atomic_load(&e->is_released))
        atomic_store(&e->is_fenced, true);
    postgres_close(*p);
    *p = NULL;
}

static void *
beat_main(void *arg)
{
    struct engine_postgres *e = arg;
    struct postgres *p = NULL;

    for (unsigned i = 0; !atomic_load(&e->stops) && !atomic_load(&e->is_fenced); i++) {
        beat_once(e, &p, i);
        engine_postgres_pause(e, BEAT_MS);
    }
    postgres_close(p);
    return NULL;
}

int
engine_postgres_start_beat(struct engine_postgres *e, struct error *err)
{
    int r = thread_start(&e->thread, "kiln-lead", beat_main, e);

    e->has_thread = r == 0;
    return r == 0 ? 0 : error_set(err, -r, "cannot start a thread: %s", strerror(r));
}

void
engine_postgres_stop_beat(struct engine_postgres *e)
{
    e->base.ops->stop(&e->base);
    if (e->has_thread)
        pthread_join(e->thread, NULL);
    e->has_thread = false;
}
