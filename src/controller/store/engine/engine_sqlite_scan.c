/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "controller/store/engine/engine_sqlite.h"
#include "controller/store/engine/row_join.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Reads bodies and deltas, both ordered by row, so that one pass joins them. */
struct sqlite_scan {
    struct engine_scan base;
    sqlite3_stmt *bodies;
    sqlite3_stmt *patches;
};

static int
step(sqlite3_stmt *s, struct error *err)
{
    int r = sqlite3_step(s);

    if (r == SQLITE_ROW)
        return 1;
    return r == SQLITE_DONE ? 0 : sql_error(sqlite3_db_handle(s), err);
}

static const char *
text_at(sqlite3_stmt *s, int column, size_t *ret_length)
{
    const char *text = (const char *)sqlite3_column_text(s, column);

    *ret_length = (size_t)sqlite3_column_bytes(s, column);
    return text != NULL ? text : "";
}

static struct engine_sum
sum_at(sqlite3_stmt *s, int column)
{
    return (struct engine_sum){
        .value = sqlite3_column_int64(s, column),
        .is_there = sqlite3_column_type(s, column) != SQLITE_NULL,
    };
}

static int
next_body(void *context, struct engine_row *ret_row, struct error *err)
{
    sqlite3_stmt *s = ((struct sqlite_scan *)context)->bodies;
    size_t length;
    int r = step(s, err);

    if (r <= 0)
        return r;
    *ret_row = (struct engine_row){
        .row = sqlite3_column_int64(s, 0),
        .revision = sqlite3_column_int64(s, 2),
        .sum = sum_at(s, 6),
        .kind = text_at(s, 1, &length),
        .namespace = text_at(s, 4, &length),
        .name = text_at(s, 5, &length),
    };
    ret_row->body = text_at(s, 3, &ret_row->length);
    return 1;
}

static int
next_patch(void *context, int64_t *ret_row, struct engine_delta *ret_delta, struct error *err)
{
    sqlite3_stmt *s = ((struct sqlite_scan *)context)->patches;
    int r = step(s, err);

    if (r <= 0)
        return r;
    *ret_row = sqlite3_column_int64(s, 0);
    ret_delta->revision = sqlite3_column_int64(s, 1);
    ret_delta->sum = sum_at(s, 3);
    ret_delta->patch = text_at(s, 2, &ret_delta->length);
    return 1;
}

void
engine_sqlite_scan_close(struct engine_scan *base)
{
    struct sqlite_scan *scan;

    if (base == NULL)
        return;
    scan = container_of(base, struct sqlite_scan, base);
    (void)sqlite3_finalize(scan->bodies);
    (void)sqlite3_finalize(scan->patches);
    row_join_fini(&base->join);
    free(scan);
}

int
engine_sqlite_scan_open(struct engine *engine, struct engine_scan **ret_scan, struct error *err)
{
    struct sqlite_scan *scan = xnew(struct sqlite_scan);
    sqlite3 *db = engine_sqlite_of(engine)->db;
    int r;

    scan->base.source = (struct row_join_source){next_body, next_patch, scan};
    r = sql_prepare(db,
                    "SELECT id, kind, revision, body, namespace, name,"
                    " checksum"
                    " FROM objects ORDER BY id",
                    &scan->bodies, err);
    if (r == 0)
        r = sql_prepare(db,
                        "SELECT object, revision, patch, checksum FROM deltas"
                        " ORDER BY object, revision",
                        &scan->patches, err);
    if (r == 0)
        r = row_join_init(&scan->base.join, &scan->base.source, err);
    if (r < 0) {
        engine_sqlite_scan_close(&scan->base);
        return r;
    }
    *ret_scan = &scan->base;
    return 0;
}

int
engine_sqlite_scan_next(struct engine_scan *scan, struct engine_row *ret_row, struct error *err)
{
    return row_join_next(&scan->join, ret_row, err);
}

typedef void visit_row_fn(sqlite3_stmt *s, const struct engine_visitor *v);

static void
visit_blob(sqlite3_stmt *s, const struct engine_visitor *v)
{
    v->blob(sqlite3_column_int64(s, 0), (const char *)sqlite3_column_text(s, 1),
            sqlite3_column_int64(s, 2), v->context);
}

static void
visit_secret(sqlite3_stmt *s, const struct engine_visitor *v)
{
    v->secret((const char *)sqlite3_column_text(s, 0), (const char *)sqlite3_column_text(s, 1),
              v->context);
}

static int
visit_rows(struct engine_sqlite *e, const char *query, visit_row_fn *visit,
           const struct engine_visitor *visitor, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(e->db, query, &s, err);

    if (r < 0)
        return r;
    while ((r = step(s, err)) > 0)
        visit(s, visitor);
    (void)sqlite3_finalize(s);
    return r;
}

int
engine_sqlite_visit(struct engine *engine, const struct engine_visitor *visitor, struct error *err)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);
    int r = visit_rows(e, "SELECT id, digest, count FROM blobs", visit_blob, visitor, err);

    if (r == 0)
        r = visit_rows(e, "SELECT name, value FROM secrets", visit_secret, visitor, err);
    return r;
}

int
engine_sqlite_read_blob(struct engine *engine, int64_t row, struct strbuf *out, struct error *err)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);
    sqlite3_stmt *s = e->read_content;
    int r;

    (void)sqlite3_bind_int64(s, 1, row);
    r = step(s, err);
    if (r > 0)
        strbuf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    (void)sqlite3_reset(s);
    return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}
