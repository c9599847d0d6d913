/* SPDX-License-Identifier: Apache-2.0 */
/* Each batch lists the rows that it changes, in its own transaction. A controller
 * that waits reads these rows as they are in one snapshot, so what it has in
 * memory is the store after a certain batch. It believes the list only if the list
 * has each batch since, and the last batch that it knows is the same one: a leader
 * of an earlier release keeps no list, and a database may be put back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/postgres/batch_fold.h"
#include "controller/store/postgres/engine_postgres.h"
#include "controller/store/postgres/tables.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define ROWS_AT_ONCE 200

/* A controller that begins to wait reads the whole store first, which takes less
 * than KEPT; who is behind for longer than KEPT_MOST reads it again.
 */
#define KEPT      "interval '2 minutes'"
#define KEPT_MOST "interval '10 minutes'"
#define TRIMMED   "50000" /* at once, for the count of the leader must not wait */

/* The pair is a row, and the revision of a change that was added to it, or 0. */
int
engine_postgres_make_changes(struct postgres *p, struct error *err)
{
    return tables_add(p, "kiln.changes",
                      "("
                      " batch int8 PRIMARY KEY,"
                      " epoch int8 NOT NULL,"
                      " holder text NOT NULL,"
                      " revision int8 NOT NULL,"
                      " at timestamptz NOT NULL DEFAULT now(),"
                      " rows int8[] NOT NULL,"
                      " deltas int8[] NOT NULL)",
                      err);
}

static bool
is_of_object(enum engine_verb verb)
{
    return verb == ENGINE_INSERT || verb == ENGINE_UPDATE || verb == ENGINE_DELETE
           || verb == ENGINE_ADD_DELTA || verb == ENGINE_DROP_DELTA;
}

void
engine_postgres_add_changes(struct postgres_values *v, const struct batch_fold *fold)
{
    size_t most = fold->first[ENGINE_VERBS], n = 0;

    for (size_t i = 0; i < most; i++)
        n += is_of_object(fold->ops[i].verb);
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < most; i++)
        if (is_of_object(fold->ops[i].verb))
            postgres_append_int64(v, fold->ops[i].row);
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < most; i++)
        if (is_of_object(fold->ops[i].verb))
            postgres_append_int64(v, fold->ops[i].verb == ENGINE_ADD_DELTA ? fold->ops[i].revision
                                                                           : 0);
}

void
engine_postgres_trim_changes(struct postgres *p)
{
    (void)postgres_query(p,
                         "DELETE FROM kiln.changes AS c USING"
                         " (SELECT batches FROM kiln.counters WHERE id = 1) AS n,"
                         " (SELECT min(batch) + " TRIMMED " AS batch FROM kiln.changes) AS first,"
                         " (SELECT min(revision) AS revision FROM kiln.controllers WHERE leads = 0"
                         "  AND revision >= 0 AND seen > now() - interval '1 minute') AS waiting,"
                         " (SELECT set_config('synchronous_commit', 'off', true) AS x) AS s"
                         " WHERE s.x IS NOT NULL AND c.batch < n.batches AND c.batch < first.batch"
                         " AND c.at < now() - " KEPT " AND (c.at < now() - " KEPT_MOST
                         " OR waiting.revision IS NULL OR c.revision < waiting.revision)",
                         NULL, NULL, NULL);
}

/* --- where the list is -------------------------------------------------------- */

static struct postgres *
session_of(const struct engine_postgres *e)
{
    return e->only_reads ? e->reader : e->writer;
}

/* A table that is missing was never made by a leader of an earlier release. */
static int
no_list(const struct engine_postgres *e, int r, struct error *err)
{
    if (r != -ENOENT && r != -ENODATA)
        return r;
    return error_set(err, -ENODATA, "database '%s' has no list of the changes from there on",
                     e->where);
}

static struct engine_position
position_at(const PGresult *result, int i)
{
    struct engine_position position = {
        .batch = postgres_int64(result, i, 0),
        .epoch = postgres_int64(result, i, 1),
        .revision = postgres_int64(result, i, 2),
    };

    snprintf(position.holder, sizeof(position.holder), "%s", postgres_text(result, i, 3, NULL));
    return position;
}

static int
read_list(struct engine_postgres *e, int64_t from, PGresult **ret_result, struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64(&v, from);
    r = postgres_query(session_of(e),
                       "SELECT batch, epoch, revision, holder FROM kiln.changes"
                       " WHERE batch >= $1::int8 ORDER BY batch",
                       &v, ret_result, err);
    postgres_values_fini(&v);
    return r;
}

int
engine_postgres_position(struct engine *engine, struct engine_position *ret_position,
                         struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    PGresult *result = NULL;
    int r = read_list(e, e->batches, &result, err);

    if (r == 0 && PQntuples(result) != 1)
        r = -ENODATA;
    if (r == 0)
        *ret_position = position_at(result, 0);
    PQclear(result);
    return no_list(e, r, err);
}

static bool
is_same_batch(const struct engine_position *a, const struct engine_position *b)
{
    return a->batch == b->batch && a->epoch == b->epoch && strcmp(a->holder, b->holder) == 0;
}

/* The list goes from the position to the last batch, without a gap. */
static int
find_end(struct engine_postgres *e, const struct engine_position *from, int64_t batches,
         struct engine_position *ret_end, struct error *err)
{
    struct engine_position first;
    PGresult *result = NULL;
    int r = read_list(e, from->batch, &result, err);
    int n = r == 0 ? PQntuples(result) : 0;

    if (r == 0 && (batches < from->batch || n != batches - from->batch + 1))
        r = -ENODATA;
    if (r == 0) {
        first = position_at(result, 0);
        *ret_end = position_at(result, n - 1);
        if (!is_same_batch(&first, from) || ret_end->batch != batches)
            r = -ENODATA;
    }
    PQclear(result);
    return no_list(e, r, err);
}

/* A leader that reads is at the batch from which it goes on. */
static int
read_batches(struct engine_postgres *e, int64_t *ret_batches, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_query(session_of(e), "SELECT batches, epoch FROM kiln.counters WHERE id = 1",
                           NULL, &result, err);

    if (r == 0 && PQntuples(result) == 0)
        r = -ENODATA;
    if (r == 0) {
        *ret_batches = postgres_int64(result, 0, 0);
        if (!e->only_reads
            && (*ret_batches != e->batches || postgres_int64(result, 0, 1) != e->epoch))
            r = -ENODATA;
    }
    PQclear(result);
    return no_list(e, r, err);
}

/* --- the rows ------------------------------------------------------------------ */

/* Pairs of a row and the revision of a change or 0, in order. */
static int
read_pairs(struct engine_postgres *e, int64_t after, int64_t end, PGresult **ret_pairs,
           struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64(&v, after);
    postgres_add_int64(&v, end);
    r = postgres_query(session_of(e),
                       "SELECT DISTINCT u.object, u.delta FROM kiln.changes AS c,"
                       " unnest(c.rows, c.deltas) AS u (object, delta)"
                       " WHERE c.batch > $1::int8 AND c.batch <= $2::int8 ORDER BY 1, 2",
                       &v, ret_pairs, err);
    postgres_values_fini(&v);
    return r;
}

static size_t
distinct_rows(const PGresult *pairs, int64_t *rows)
{
    size_t n = 0;

    for (int i = 0; i < PQntuples(pairs); i++) {
        int64_t row = postgres_int64(pairs, i, 0);

        if (n == 0 || rows[n - 1] != row)
            rows[n++] = row;
    }
    return n;
}

static int
ask_about(struct engine_postgres *e, const char *text, const int64_t *keys, size_t n,
          PGresult **ret_result, struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64_array(&v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(&v, keys[i]);
    r = postgres_query(session_of(e), text, &v, ret_result, err);
    postgres_values_fini(&v);
    return r;
}

/* Tells which rows are gone, so that their names are free, and keeps the others. */
static int
sort_out(struct engine_postgres *e, const struct engine_changes *changes, int64_t *rows, size_t *n,
         struct error *err)
{
    PGresult *result = NULL;
    size_t there = 0;
    int r = ask_about(e, "SELECT id FROM kiln.objects WHERE id = ANY ($1::int8[]) ORDER BY id",
                      rows, *n, &result, err);

    for (size_t i = 0; r == 0 && i < *n; i++) {
        bool is_there =
            there < (size_t)PQntuples(result) && postgres_int64(result, (int)there, 0) == rows[i];

        if (is_there)
            rows[there++] = rows[i];
        else
            changes->gone(rows[i], changes->context);
    }
    PQclear(result);
    *n = there;
    return r;
}

struct revisions {
    int64_t *items;
    size_t n, capacity;
};

static void
add_revision(struct revisions *revisions, int64_t revision)
{
    xgrow(revisions->items, revisions->n, revisions->capacity);
    revisions->items[revisions->n++] = revision;
}

/* The changes that these rows may have: those that are known, and those that were
 * added since. `at` is the first pair that is not looked at yet.
 */
static void
gather_revisions(const struct engine_changes *changes, const PGresult *pairs, int *at,
                 const int64_t *rows, size_t n, struct revisions *out)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t *known = NULL;
        size_t n_known = changes->deltas(rows[i], &known, changes->context);

        for (size_t k = 0; k < n_known; k++)
            add_revision(out, known[k]);
        while (*at < PQntuples(pairs) && postgres_int64(pairs, *at, 0) < rows[i])
            ++*at;
        for (; *at < PQntuples(pairs) && postgres_int64(pairs, *at, 0) == rows[i]; ++*at)
            if (postgres_int64(pairs, *at, 1) != 0)
                add_revision(out, postgres_int64(pairs, *at, 1));
    }
}

static int
give_rows(struct engine_postgres *e, const struct engine_changes *changes, const int64_t *rows,
          size_t n, const struct revisions *revisions, struct error *err)
{
    PGresult *bodies = NULL, *patches = NULL;
    struct engine_scan *scan = NULL;
    struct engine_row row;
    int r = ask_about(e,
                      "SELECT id, revision, kind, namespace, name, body, checksum"
                      " FROM kiln.objects WHERE id = ANY ($1::int8[]) ORDER BY id",
                      rows, n, &bodies, err);

    if (r == 0)
        r = ask_about(e,
                      "SELECT object, revision, patch, checksum FROM kiln.deltas"
                      " WHERE revision = ANY ($1::int8[]) ORDER BY object, revision",
                      revisions->items, revisions->n, &patches, err);
    if (r == 0) {
        r = engine_postgres_scan_results(e, bodies, patches, &scan, err);
        bodies = NULL;
    }
    while (r == 0 && (r = engine_postgres_scan_next(scan, &row, err)) > 0)
        r = changes->changed(&row, changes->context, err);
    engine_postgres_scan_close(scan);
    PQclear(bodies);
    return r;
}

static int
read_rows(struct engine_postgres *e, const struct engine_changes *changes, const PGresult *pairs,
          struct error *err)
{
    CLEANUP_FREE int64_t *rows = xnew_array(int64_t, (size_t)PQntuples(pairs) + 1);
    size_t n = distinct_rows(pairs, rows);
    struct revisions revisions = {0};
    int at = 0;
    int r = sort_out(e, changes, rows, &n, err);

    for (size_t i = 0; r == 0 && i < n; i += ROWS_AT_ONCE) {
        size_t some = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;

        revisions.n = 0;
        gather_revisions(changes, pairs, &at, rows + i, some, &revisions);
        r = give_rows(e, changes, rows + i, some, &revisions, err);
    }
    free(revisions.items);
    return r;
}

/* Cheap beside what a mistake would cost: only keys are read. */
static int
compare_totals(struct engine_postgres *e, const struct engine_changes *changes, struct error *err)
{
    CLEANUP_FREE char *text =
        xasprintf("SELECT (SELECT count(*) FROM kiln.objects),"
                  " (SELECT (coalesce(sum(id), 0) %% %d)::int8 FROM kiln.objects),"
                  " (SELECT count(*) FROM kiln.deltas),"
                  " (SELECT (coalesce(sum(revision), 0) %% %d)::int8 FROM kiln.deltas)",
                  ENGINE_TOTALS_MODULUS, ENGINE_TOTALS_MODULUS);
    struct engine_totals has = {0};
    PGresult *result = NULL;
    int r = postgres_query(session_of(e), text, NULL, &result, err);

    changes->totals(&has, changes->context);
    if (r == 0
        && (postgres_int64(result, 0, 0) != has.rows || postgres_int64(result, 0, 1) != has.row_sum
            || postgres_int64(result, 0, 2) != has.deltas
            || postgres_int64(result, 0, 3) != has.delta_sum))
        r = error_set(err, -EUCLEAN,
                      "the database has other rows than its list of changes says: another program "
                      "changes its tables, or this is a bug in Kiln; please report it");
    PQclear(result);
    return r;
}

static int
follow(struct engine_postgres *e, struct engine_position *position,
       const struct engine_changes *changes, struct error *err)
{
    struct engine_position end = *position;
    PGresult *pairs = NULL;
    int64_t batches = 0;
    int r = read_batches(e, &batches, err);

    if (r == 0)
        r = find_end(e, position, batches, &end, err);
    if (r == 0 && end.batch != position->batch)
        r = read_pairs(e, position->batch, end.batch, &pairs, err);
    if (r == 0 && pairs != NULL && PQntuples(pairs) > 0)
        r = read_rows(e, changes, pairs, err);
    if (r == 0 && !e->only_reads)
        r = compare_totals(e, changes, err);
    PQclear(pairs);
    if (r == 0)
        *position = end;
    return r;
}

int
engine_postgres_follow(struct engine *engine, struct engine_position *position,
                       const struct engine_changes *changes, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    struct postgres *p = session_of(e);
    int r = 0;

    if (p == NULL)
        return error_set(err, -EAGAIN, "database '%s' is away", e->where);
    if (e->has_snapshot)
        r = postgres_exec(p, "COMMIT", err);
    e->has_snapshot = false;
    if (r == 0)
        r = postgres_exec(p, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    if (r == 0)
        r = follow(e, position, changes, err);
    if (r == 0)
        return postgres_exec(p, "COMMIT", err);
    (void)postgres_exec(p, "ROLLBACK", NULL);
    return r;
}
