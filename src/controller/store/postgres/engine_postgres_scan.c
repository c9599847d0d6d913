/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is read in portions from cursors, so that neither side holds the
 * whole store twice. The transaction of a scan that reads beside a leader is one
 * snapshot for all that is read; the leader itself reads before it writes.
 */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/engine/checksum.h"
#include "controller/store/engine/row_join.h"
#include "controller/store/postgres/engine_postgres.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* A part of a cursor's rows, and how far it was read. */
struct cursor_rows {
    const char *fetch;
    PGresult *result;
    int at;
    bool has_ended;
};

struct postgres_scan {
    struct engine_scan base;
    struct engine_postgres *engine;
    struct cursor_rows bodies;
    struct cursor_rows patches;
    bool is_open;
};

static struct postgres *
session_of(struct engine_postgres *e)
{
    return e->only_reads ? e->reader : e->writer;
}

static int
lacks_session(const struct engine_postgres *e, struct error *err)
{
    return error_set(err, -EAGAIN, "database '%s' is away", e->where);
}

/* 1 if the portion is at a row, 0 at the end. */
static int
next_row(struct postgres_scan *scan, struct cursor_rows *p, struct error *err)
{
    int r = 0;

    if (p->result != NULL && ++p->at < PQntuples(p->result))
        return 1;
    PQclear(p->result);
    p->result = NULL;
    p->at = 0;
    if (!p->has_ended)
        r = postgres_query(session_of(scan->engine), p->fetch, NULL, &p->result, err);
    p->has_ended = p->has_ended || r < 0 || PQntuples(p->result) == 0;
    return r < 0 ? r : p->has_ended ? 0 : 1;
}

static struct engine_sum
sum_at(const struct cursor_rows *p, int column)
{
    return (struct engine_sum){
        .value = postgres_int64(p->result, p->at, column),
        .is_there = !postgres_is_null(p->result, p->at, column),
    };
}

static int
next_body(void *context, struct engine_row *ret_row, struct error *err)
{
    struct postgres_scan *scan = context;
    struct cursor_rows *p = &scan->bodies;
    int r = next_row(scan, p, err);

    if (r <= 0)
        return r;
    *ret_row = (struct engine_row){
        .row = postgres_int64(p->result, p->at, 0),
        .revision = postgres_int64(p->result, p->at, 1),
        .kind = postgres_text(p->result, p->at, 2, NULL),
        .namespace = postgres_text(p->result, p->at, 3, NULL),
        .name = postgres_text(p->result, p->at, 4, NULL),
        .sum = sum_at(p, 6),
    };
    ret_row->body = postgres_text(p->result, p->at, 5, &ret_row->length);
    return 1;
}

static int
next_patch(void *context, int64_t *ret_row, struct engine_delta *ret_delta, struct error *err)
{
    struct postgres_scan *scan = context;
    struct cursor_rows *p = &scan->patches;
    int r = next_row(scan, p, err);

    if (r <= 0)
        return r;
    *ret_row = postgres_int64(p->result, p->at, 0);
    ret_delta->revision = postgres_int64(p->result, p->at, 1);
    ret_delta->sum = sum_at(p, 3);
    ret_delta->patch = postgres_text(p->result, p->at, 2, &ret_delta->length);
    return 1;
}

#define BODIES(table)                                                                      \
    "DECLARE kiln_bodies NO SCROLL CURSOR FOR SELECT id, revision, kind, namespace, name," \
    " body, checksum FROM " table " ORDER BY id;"
#define PATCHES(rest)                                                                    \
    "DECLARE kiln_patches NO SCROLL CURSOR FOR SELECT object, revision, patch, checksum" \
    " FROM kiln.deltas " rest
static const char of_objects[] = BODIES("kiln.objects") PATCHES("ORDER BY object, revision");

/* They are written whole. */
static const char of_events[] = BODIES("kiln.events") PATCHES("WHERE false");

static int
open_cursors(struct engine_postgres *e, struct error *err)
{
    int r = e->only_reads ? 0 : postgres_exec(session_of(e), "BEGIN READ ONLY", err);

    return r == 0 ? postgres_exec(session_of(e), e->event_age_s > 0 ? of_events : of_objects, err)
                  : r;
}

void
engine_postgres_scan_close(struct engine_scan *base)
{
    struct postgres_scan *scan;

    if (base == NULL)
        return;
    scan = container_of(base, struct postgres_scan, base);
    PQclear(scan->bodies.result);
    PQclear(scan->patches.result);
    if (scan->is_open)
        (void)postgres_exec(
            session_of(scan->engine),
            scan->engine->only_reads ? "CLOSE kiln_bodies; CLOSE kiln_patches" : "COMMIT", NULL);
    row_join_fini(&base->join);
    free(scan);
}

int
engine_postgres_scan_results(struct engine_postgres *e, PGresult *bodies, PGresult *patches,
                             struct engine_scan **ret_scan, struct error *err)
{
    struct postgres_scan *scan = xnew(struct postgres_scan);
    int r;

    scan->engine = e;
    scan->base.source = (struct row_join_source){next_body, next_patch, scan};
    scan->bodies = (struct cursor_rows){.result = bodies, .at = -1, .has_ended = true};
    scan->patches = (struct cursor_rows){.result = patches, .at = -1, .has_ended = true};
    r = row_join_init(&scan->base.join, &scan->base.source, err);
    if (r == 0)
        *ret_scan = &scan->base;
    else
        engine_postgres_scan_close(&scan->base);
    return r;
}

int
engine_postgres_scan_open(struct engine *engine, struct engine_scan **ret_scan, struct error *err)
{
    struct postgres_scan *scan = xnew(struct postgres_scan);
    int r;

    scan->engine = engine_postgres_of(engine);
    scan->base.source = (struct row_join_source){next_body, next_patch, scan};
    scan->bodies.fetch = "FETCH 500 FROM kiln_bodies";
    scan->patches.fetch = "FETCH 2000 FROM kiln_patches";
    r = session_of(scan->engine) != NULL ? open_cursors(scan->engine, err)
                                         : lacks_session(scan->engine, err);
    scan->is_open = r == 0;
    if (r == 0)
        r = row_join_init(&scan->base.join, &scan->base.source, err);
    if (r < 0) {
        engine_postgres_scan_close(&scan->base);
        return r;
    }
    *ret_scan = &scan->base;
    return 0;
}

int
engine_postgres_scan_next(struct engine_scan *scan, struct engine_row *ret_row, struct error *err)
{
    return row_join_next(&scan->join, ret_row, err);
}

int
engine_postgres_visit(struct engine *engine, const struct engine_visitor *visitor,
                      struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    PGresult *result = NULL;
    int r = session_of(e) != NULL ? postgres_query(
                session_of(e), "SELECT id, digest, count FROM kiln.blobs", NULL, &result, err)
                                  : lacks_session(e, err);

    for (int i = 0; r == 0 && i < PQntuples(result); i++)
        visitor->blob(postgres_int64(result, i, 0), postgres_text(result, i, 1, NULL),
                      postgres_int64(result, i, 2), visitor->context);
    PQclear(result);
    result = NULL;
    if (r == 0)
        r = postgres_query(session_of(e), "SELECT name, value FROM kiln.secrets", NULL, &result,
                           err);
    for (int i = 0; r == 0 && i < PQntuples(result); i++)
        visitor->secret(postgres_text(result, i, 0, NULL), postgres_text(result, i, 1, NULL),
                        visitor->context);
    PQclear(result);
    return r;
}

/* Asks the reader's session, or once more a new one. */
static int
ask_reader(struct engine_postgres *e, const char *text, const struct postgres_values *values,
           PGresult **ret_result, struct error *err)
{
    int tries = e->reader != NULL ? 2 : 1;
    int r = -EAGAIN;

    for (int i = 0; r == -EAGAIN && i < tries; i++) {
        r = e->reader != NULL ? 0
                              : postgres_connect(e->url, "kiln-controller reader", &e->reader, err);
        if (r == 0)
            r = postgres_query(e->reader, text, values, ret_result, err);
        if (r == -EAGAIN && !e->only_reads) {
            postgres_close(e->reader);
            e->reader = NULL;
        }
    }
    return r;
}

int
engine_postgres_read_blob(struct engine *engine, int64_t row, struct strbuf *out, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    const char *content;
    size_t length;
    int r;

    postgres_add_int64(&v, row);
    r = ask_reader(engine_postgres_of(engine),
                   "SELECT content FROM kiln.blob_contents WHERE id = $1::int8", &v, &result, err);
    postgres_values_fini(&v);
    if (r == 0 && PQntuples(result) == 0)
        r = -ENOENT;
    if (r == 0) {
        content = postgres_text(result, 0, 0, &length);
        strbuf_add(out, content, length);
    }
    PQclear(result);
    return r;
}

/* Rows in the order of their keys, with the key first, as one statement that
 * also ends at so many bytes.
 */
static const char bodies[] =
    "SELECT id, id, revision, body, checksum, kind, namespace, name FROM kiln.objects"
    " WHERE id > $1::int8 ORDER BY id LIMIT $2::int8";
static const char patches[] =
    "SELECT d.revision, d.object, d.revision, d.patch, d.checksum, o.kind, o.namespace, o.name"
    " FROM kiln.deltas AS d LEFT JOIN kiln.objects AS o ON o.id = d.object"
    " WHERE d.revision > $1::int8 ORDER BY d.revision LIMIT $2::int8";

static struct engine_row
row_at(const PGresult *result, int at)
{
    struct engine_row row = {
        .row = postgres_int64(result, at, 1),
        .revision = postgres_int64(result, at, 2),
        .kind = postgres_text(result, at, 5, NULL),
        .namespace = postgres_text(result, at, 6, NULL),
        .name = postgres_text(result, at, 7, NULL),
    };

    row.body = postgres_text(result, at, 3, &row.length);
    row.sum.value = postgres_int64(result, at, 4);
    row.sum.is_there = !postgres_is_null(result, at, 4);
    return row;
}

static size_t
check_rows(const PGresult *result, struct engine_slice *slice, engine_wrong_fn *wrong,
           void *context)
{
    size_t rows = (size_t)PQntuples(result);

    for (size_t i = 0; i < rows; i++) {
        struct engine_row row = row_at(result, (int)i);

        if (checksum_verify(&row, NULL) < 0)
            wrong(&row, context);
        slice->after = postgres_int64(result, (int)i, 0);
    }
    return rows;
}

int
engine_postgres_verify(struct engine *engine, struct engine_slice *slice, engine_wrong_fn *wrong,
                       void *context, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    size_t rows = 0;
    int r;

    postgres_add_int64(&v, slice->after);
    postgres_add_int64(&v, (int64_t)slice->rows);
    r = ask_reader(engine_postgres_of(engine), slice->is_in_deltas ? patches : bodies, &v, &result,
                   err);
    postgres_values_fini(&v);
    if (r == 0)
        rows = check_rows(result, slice, wrong, context);
    PQclear(result);
    if (r < 0 || rows == slice->rows)
        return r < 0 ? r : 1;
    if (slice->is_in_deltas)
        return 0;
    slice->is_in_deltas = true;
    slice->after = INT64_MIN;
    return 1;
}
