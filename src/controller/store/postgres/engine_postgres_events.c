/* SPDX-License-Identifier: Apache-2.0 */
/* Events have a table and a session of their own. Its commits wait for no disk, so a
 * burst of events takes no time from the batches of the store, and what was committed in
 * the last moment before the database server dies may be lost. A leader that another one
 * has replaced writes none any more.
 */
#include <errno.h>
#include <stdatomic.h>

#include "controller/store/postgres/batch_fold.h"
#include "controller/store/postgres/engine_postgres.h"
#include "controller/store/postgres/tables.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"

#define EVENTS "kiln-controller events"

#define PAUSE_LEAST_MS 20
#define PAUSE_MOST_MS  1000

/* Statements of a batch can be repeated: nobody knows whether one was carried out whose
 * session was lost. The number of rows, which a batch of the store checks, says nothing
 * here, for a batch may have been left out before.
 */
#define LEADS "(SELECT epoch FROM kiln.counters WHERE id = 1) = "
static const struct statement {
    enum engine_verb verb;
    const char *name;
    const char *text;
} statements[] = {
    {ENGINE_DELETE, "drop",
     "DELETE FROM kiln.events AS o USING unnest($1::int8[]) AS n (id)"
     " WHERE o.id = n.id AND $2::int8 > 0 AND " LEADS "$3::int8"},
    {ENGINE_INSERT, "put",
     "INSERT INTO kiln.events (id, revision, kind, namespace, name, body, checksum)"
     " SELECT n.* FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[], $5::bytea[],"
     " $6::bytea[], $7::int8[]) AS n WHERE " LEADS "$8::int8 ON CONFLICT (id) DO NOTHING"},
    {ENGINE_UPDATE, "change",
     "UPDATE kiln.events AS o SET revision = n.revision, body = n.body, checksum = n.checksum,"
     " at = now() FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::int8[])"
     " AS n (id, revision, body, checksum)"
     " WHERE o.id = n.id AND $5::int8 > 0 AND " LEADS "$6::int8"},
};

int
engine_postgres_make_events(struct postgres *p, struct error *err)
{
    return tables_add(p, "kiln.events",
                      "("
                      " id int8 PRIMARY KEY,"
                      " revision int8 NOT NULL,"
                      " checksum int8,"
                      " kind bytea NOT NULL,"
                      " namespace bytea NOT NULL,"
                      " name bytea NOT NULL,"
                      " body bytea NOT NULL,"
                      " at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 80)",
                      err);
}

/* By the clock of the database. */
static int
drop_old(struct postgres *p, int64_t age_s, struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64(&v, age_s);
    r = postgres_query(p,
                       "DELETE FROM kiln.events WHERE at < now() - $1::int8 * interval '1 second'",
                       &v, NULL, err);
    postgres_values_fini(&v);
    return r;
}

static int
begin_session(struct engine_postgres *e, struct error *err)
{
    int r = e->writer != NULL ? 0 : postgres_connect(e->url, EVENTS, &e->writer, err);

    if (r == 0)
        r = postgres_exec(e->writer, "SET synchronous_commit = off", err);
    if (r == 0)
        r = drop_old(e->writer, e->event_age_s, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(statements); i++)
        r = postgres_prepare(e->writer, statements[i].name, statements[i].text, err);
    return r;
}

static void
end_session(struct engine_postgres *e)
{
    postgres_close(e->writer);
    e->writer = NULL;
}

static int
send(struct engine_postgres *e, const struct batch_fold *fold, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(statements); i++) {
        enum engine_verb verb = statements[i].verb;
        size_t n = batch_fold_count(fold, verb);
        struct postgres_values v = {0};

        if (n == 0)
            continue;
        engine_postgres_fill(&v, verb, fold->ops + fold->first[verb], n, 0);
        postgres_add_int64(&v, e->epoch);
        r = postgres_send(e->writer, statements[i].name, &v, err);
        postgres_values_fini(&v);
    }
    return r;
}

static int
try_batch(struct engine_postgres *e, const struct batch_fold *fold, int64_t patience_ms,
          struct error *err)
{
    size_t failed;
    int r = e->writer != NULL ? 0 : begin_session(e, err);

    if (r == 0) {
        e->writer->patience_ms = patience_ms;
        r = send(e, fold, err);
    }
    return r == 0 ? postgres_sync(e->writer, &failed, err) : r;
}

/* Tries again until the database is there; a stop waits for no database. The store
 * bounds how many come meanwhile.
 */
static int
apply(struct engine_postgres *e, const struct batch_fold *fold, struct error *err)
{
    int64_t pause_ms = 0, patience_ms = 0;
    int r;

    for (;;) {
        r = try_batch(e, fold, patience_ms, err);
        patience_ms = postgres_next_patience_ms(e->writer, patience_ms);
        if (r < 0)
            end_session(e);
        if ((r != -EAGAIN && r != -EACCES) || atomic_load(&e->stops))
            return r;
        pause_ms = backoff_next(pause_ms, PAUSE_LEAST_MS, PAUSE_MOST_MS);
        engine_postgres_pause(e, pause_ms);
    }
}

static enum engine_outcome
events_apply(struct engine *engine, const struct engine_batch *batch, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    struct batch_fold fold;
    int r = batch_fold_init(&fold, batch->ops, batch->n_ops, err);

    if (r == 0)
        r = apply(e, &fold, err);
    batch_fold_fini(&fold);
    return r == 0                         ? ENGINE_COMMITTED
           : r == -ENOSPC || r == -EAGAIN ? ENGINE_REFUSED
                                          : ENGINE_UNKNOWN;
}

static int
events_scan_open(struct engine *engine, struct engine_scan **ret_scan, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    int r = e->writer != NULL ? 0 : begin_session(e, err);

    if (r == 0)
        r = engine_postgres_scan_open(engine, ret_scan, err);
    if (r < 0)
        end_session(e);
    return r;
}

static void
events_close(struct engine *engine)
{
    engine_postgres_free(engine_postgres_of(engine));
}

static const struct engine_ops events_ops = {
    .apply = events_apply,
    .backlog = engine_postgres_backlog,
    .checkpoint = engine_postgres_checkpoint,
    .finish_checkpoint = engine_postgres_checkpoint,
    .scan_open = events_scan_open,
    .scan_next = engine_postgres_scan_next,
    .scan_close = engine_postgres_scan_close,
    .stop = engine_postgres_stop,
    .close = events_close,
};

struct engine *
engine_postgres_events_new(const char *url, int64_t epoch, int64_t age_s)
{
    struct engine_postgres *e = engine_postgres_make(url, "", &events_ops);

    e->epoch = epoch;
    e->event_age_s = age_s;
    return &e->base;
}
