/* SPDX-License-Identifier: Apache-2.0 */
/* Each controller keeps a row about itself, for 'kctl controllers': written every
 * few seconds, without a wait for the standby server, by the session that it has
 * anyway. The leader reads all rows then, so that a request for them asks no
 * database. Ages are by the clock of the database.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/postgres/engine_postgres.h"
#include "controller/store/postgres/tables.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/version/version.h"

#define GONE "interval '1 hour'"

/* Until a standby tries again after it could not write its row: a leader of an
 * earlier release has made no table, and the server logs each try.
 */
#define REFUSED_US INT64_C(20000000)

/* In the list that was read last. */
struct row {
    struct engine_controller controller;
    char *texts[6];
};

struct controller_rows {
    struct row *rows;
    size_t n;
    int64_t read_us; /* boot time */
};

static void
rows_free(struct controller_rows *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++)
        for (size_t t = 0; t < ARRAY_SIZE(list->rows[i].texts); t++)
            free(list->rows[i].texts[t]);
    free(list->rows);
    free(list);
}

void
engine_postgres_forget_controllers(struct engine_postgres *e)
{
    rows_free(e->controllers);
    free(e->successor);
    e->controllers = NULL;
    e->successor = NULL;
}

static int
make_table(struct postgres *p, struct error *err)
{
    return tables_add(p, "kiln.controllers",
                      "("
                      " name text NOT NULL,"
                      " directory text NOT NULL,"
                      " holder text NOT NULL,"
                      " place text NOT NULL,"
                      " address text NOT NULL,"
                      " release text NOT NULL,"
                      " leads int8 NOT NULL,"
                      " revision int8 NOT NULL,"
                      " since timestamptz NOT NULL,"
                      " seen timestamptz NOT NULL,"
                      " PRIMARY KEY (name, directory)) WITH (fillfactor = 20)",
                      err);
}

static int
put_row(struct engine_postgres *e, struct postgres *p, bool leads, int64_t revision,
        struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_text(&v, e->name);
    postgres_add_text(&v, e->directory);
    postgres_add_text(&v, e->holder);
    postgres_add_text(&v, e->place);
    postgres_add_text(&v, e->address);
    postgres_add_text(&v, version_text());
    postgres_add_int64(&v, leads);
    postgres_add_int64(&v, revision);
    r = postgres_query(
        p,
        "INSERT INTO kiln.controllers AS c"
        " SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::int8, $8::int8,"
        " now(), now() FROM (SELECT set_config('synchronous_commit', 'off', true) AS x) AS s"
        " WHERE s.x IS NOT NULL"
        " ON CONFLICT (name, directory) DO UPDATE SET holder = excluded.holder,"
        " place = excluded.place, address = excluded.address, release = excluded.release,"
        " leads = excluded.leads, revision = excluded.revision, seen = excluded.seen,"
        " since = CASE WHEN c.holder = excluded.holder AND c.leads = excluded.leads"
        " THEN c.since ELSE excluded.since END",
        &v, NULL, err);
    postgres_values_fini(&v);
    return r;
}

int
engine_postgres_note_waiting(struct engine_postgres *e, struct postgres *p, int64_t revision)
{
    int64_t now_us = clock_boottime_us();
    int r;

    if (e->name == NULL || (e->noted_us != 0 && now_us - e->noted_us < NOTE_EVERY_US))
        return 0;
    e->noted_us = now_us;
    r = put_row(e, p, false, revision, NULL);
    if (r < 0 && r != -EAGAIN)
        e->noted_us = now_us + REFUSED_US;
    return r == -EAGAIN ? r : 0;
}

static void
take_row(const struct engine_postgres *e, const PGresult *result, int i, struct row *row)
{
    struct engine_controller *c = &row->controller;

    for (int t = 0; t < (int)ARRAY_SIZE(row->texts); t++)
        row->texts[t] = xstrdup(postgres_text(result, i, t, NULL));
    *c = (struct engine_controller){
        .name = row->texts[0],
        .directory = row->texts[1],
        .address = row->texts[2],
        .release = row->texts[3],
        .place = row->texts[4],
        .leads = strcmp(row->texts[5], e->holder) == 0,
        .revision = postgres_int64(result, i, 6),
        .since_s = postgres_int64(result, i, 7),
        .silent_ms = postgres_int64(result, i, 8),
    };
}

static void
keep_rows(struct engine_postgres *e, const PGresult *result, int64_t asked_us)
{
    struct controller_rows *list = xnew(struct controller_rows);

    list->n = (size_t)PQntuples(result);
    list->rows = xnew_array(struct row, list->n + 1);
    list->read_us = asked_us;
    for (size_t i = 0; i < list->n; i++)
        take_row(e, result, (int)i, &list->rows[i]);
    pthread_mutex_lock(&e->lock);
    rows_free(e->controllers);
    e->controllers = list;
    pthread_mutex_unlock(&e->lock);
}

static int
read_rows(struct engine_postgres *e, struct postgres *p, struct error *err)
{
    int64_t asked_us = clock_boottime_us();
    PGresult *result = NULL;
    int r = postgres_query(p,
                           "SELECT name, directory, address, release, place, holder, revision,"
                           " extract(epoch FROM since)::int8,"
                           " (extract(epoch FROM now() - seen) * 1000)::int8"
                           " FROM kiln.controllers WHERE seen > now() - " GONE
                           " ORDER BY name, directory",
                           NULL, &result, err);

    if (r == 0)
        keep_rows(e, result, asked_us);
    PQclear(result);
    return r;
}

int
engine_postgres_note_leading(struct engine_postgres *e, struct postgres *p)
{
    int64_t now_us = clock_boottime_us();
    int r = 0;

    if (e->name == NULL || (e->led_us != 0 && now_us - e->led_us < NOTE_EVERY_US))
        return 0;
    if (e->led_us == 0)
        r = make_table(p, NULL);
    if (r == 0)
        r = put_row(e, p, true, -1, NULL);
    if (r == 0 && e->led_us == 0)
        r = postgres_exec(p, "DELETE FROM kiln.controllers WHERE seen < now() - " GONE, NULL);
    if (r == 0)
        r = read_rows(e, p, NULL);
    e->led_us = now_us;
    return r;
}

/* It ends in good order. */
void
engine_postgres_remove_row(struct engine_postgres *e, struct postgres *p)
{
    struct postgres_values v = {0};

    if (e->name == NULL || postgres_exec(p, "SET synchronous_commit = off", NULL) < 0)
        return;
    postgres_add_text(&v, e->holder);
    (void)postgres_query(p, "DELETE FROM kiln.controllers WHERE holder = $1::text", &v, NULL, NULL);
    postgres_values_fini(&v);
}

void
engine_postgres_visit_controllers(struct engine *engine, engine_controller_fn *visit, void *context)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    int64_t now_us = clock_boottime_us();

    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; e->controllers != NULL && i < e->controllers->n; i++) {
        struct engine_controller c = e->controllers->rows[i].controller;

        c.silent_ms += (now_us - e->controllers->read_us) / 1000;
        visit(&c, context);
    }
    pthread_mutex_unlock(&e->lock);
}

void
engine_postgres_name_successor(struct engine *engine, const char *place)
{
    struct engine_postgres *e = engine_postgres_of(engine);

    pthread_mutex_lock(&e->lock);
    free(e->successor);
    e->successor = xstrdup(place);
    pthread_mutex_unlock(&e->lock);
}

/* One that has the objects in memory leads soonest, one that reads them already ends that
 * first, and one that has not begun has to read all of them.
 */
static int64_t
preference(const struct engine_controller *c)
{
    return c->revision == ENGINE_LOADING ? -1 : c->revision == ENGINE_COLD ? -2 : c->revision;
}

/* One that is silent may be gone, and the others would wait for it in vain. */
static const struct engine_controller *
best_successor(const struct controller_rows *list)
{
    int64_t age_ms = list != NULL ? (clock_boottime_us() - list->read_us) / 1000 : 0;
    int64_t least_ms = 2 * NOTE_EVERY_US / 1000;
    const struct engine_controller *best = NULL;

    for (size_t i = 0; list != NULL && i < list->n; i++) {
        const struct engine_controller *c = &list->rows[i].controller;

        if (!c->leads && c->silent_ms + age_ms < least_ms
            && (best == NULL || preference(c) > preference(best)))
            best = c;
    }
    return best;
}

char *
engine_postgres_choose_successor(struct engine_postgres *e)
{
    const struct engine_controller *best;
    char *place = NULL;

    pthread_mutex_lock(&e->lock);
    best = best_successor(e->controllers);
    if (e->successor != NULL)
        place = xstrdup(e->successor);
    else if (best != NULL)
        place = xstrdup(best->place);
    pthread_mutex_unlock(&e->lock);
    return place;
}
