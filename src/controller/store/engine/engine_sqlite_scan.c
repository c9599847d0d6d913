/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "controller/store/engine/engine_sqlite.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Reads bodies and deltas, both ordered by row, so that one pass joins them. */
struct engine_scan {
    struct engine_sqlite *engine;
    sqlite3_stmt *bodies;
    sqlite3_stmt *patches;
    bool has_body;  /* `bodies` is at a row not yet returned */
    bool has_patch; /* `patches` is at a row */
    bool has_ended; /* another step would restart the statement */
    struct engine_delta *deltas;
    size_t n_deltas;
    size_t capacity;
    struct strbuf text; /* of the deltas */
};

static int
step(sqlite3_stmt *s, struct error *err)
{
    int r = sqlite3_step(s);

    if (r == SQLITE_ROW)
        return 1;
    return r == SQLITE_DONE ? 0 : sql_error(sqlite3_db_handle(s), err);
}

static int
next_patch(struct engine_scan *scan, struct error *err)
{
    int r = step(scan->patches, err);

    scan->has_patch = r > 0;
    return r < 0 ? r : 0;
}

void
engine_sqlite_scan_close(struct engine_scan *scan)
{
    if (scan == NULL)
        return;
    (void)sqlite3_finalize(scan->bodies);
    (void)sqlite3_finalize(scan->patches);
    strbuf_fini(&scan->text);
    free(scan->deltas);
    free(scan);
}

int
engine_sqlite_scan_open(struct engine *engine, struct engine_scan **ret_scan, struct error *err)
{
    struct engine_scan *scan = xnew(struct engine_scan);
    int r;

    scan->engine = engine_sqlite_of(engine);
    strbuf_init(&scan->text);
    r = sql_prepare(scan->engine->db,
                    "SELECT id, kind, revision, body, namespace, name,"
                    " checksum"
                    " FROM objects ORDER BY id",
                    &scan->bodies, err);
    if (r == 0)
        r = sql_prepare(scan->engine->db,
                        "SELECT object, revision, patch, checksum FROM deltas"
                        " ORDER BY object, revision",
                        &scan->patches, err);
    if (r == 0)
        r = next_patch(scan, err);
    if (r < 0) {
        engine_sqlite_scan_close(scan);
        return r;
    }
    *ret_scan = scan;
    return 0;
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

static void
keep_patch(struct engine_scan *scan)
{
    struct engine_delta *delta;
    const char *text;

    xgrow(scan->deltas, scan->n_deltas, scan->capacity);
    delta = &scan->deltas[scan->n_deltas++];
    delta->revision = sqlite3_column_int64(scan->patches, 1);
    delta->sum = sum_at(scan->patches, 3);
    text = text_at(scan->patches, 2, &delta->length);
    strbuf_add(&scan->text, text, delta->length);
    strbuf_add_char(&scan->text, '\0');
}

/* The text may have been moved while it grew, so the pointers are set here. */
static void
point_patches(struct engine_scan *scan)
{
    const char *text = scan->text.text;

    for (size_t i = 0; i < scan->n_deltas; i++) {
        scan->deltas[i].patch = text;
        text += scan->deltas[i].length + 1;
    }
}

static int64_t
patch_object(const struct engine_scan *scan)
{
    return sqlite3_column_int64(scan->patches, 0);
}

static int
gather_patches(struct engine_scan *scan, int64_t row, struct error *err)
{
    int r = 0;

    scan->n_deltas = 0;
    strbuf_truncate(&scan->text, 0);
    while (r == 0 && scan->has_patch && patch_object(scan) == row) {
        keep_patch(scan);
        r = next_patch(scan, err);
    }
    point_patches(scan);
    return r;
}

/* Steps to the next body unless there is one that was not returned yet. */
static int
peek_body(struct engine_scan *scan, struct error *err)
{
    int r;

    if (scan->has_body || scan->has_ended)
        return 0;
    r = step(scan->bodies, err);
    scan->has_body = r > 0;
    scan->has_ended = r <= 0;
    return r < 0 ? r : 0;
}

static int
lone_change(struct engine_scan *scan, struct engine_row *ret_row, struct error *err)
{
    int r;

    *ret_row = (struct engine_row){
        .row = patch_object(scan),
        .revision = sqlite3_column_int64(scan->patches, 1),
        .is_lone_change = true,
        .kind = "",
        .namespace = "",
        .name = "",
    };
    scan->n_deltas = 0;
    strbuf_truncate(&scan->text, 0);
    keep_patch(scan);
    ret_row->body = scan->text.text;
    ret_row->length = scan->deltas[0].length;
    r = next_patch(scan, err);
    return r < 0 ? r : 1;
}

int
engine_sqlite_scan_next(struct engine_scan *scan, struct engine_row *ret_row, struct error *err)
{
    size_t length;
    int r = peek_body(scan, err);

    if (r < 0)
        return r;
    if (scan->has_patch
        && (scan->has_ended || patch_object(scan) < sqlite3_column_int64(scan->bodies, 0)))
        return lone_change(scan, ret_row, err);
    if (scan->has_ended)
        return 0;
    scan->has_body = false;
    *ret_row = (struct engine_row){
        .row = sqlite3_column_int64(scan->bodies, 0),
        .revision = sqlite3_column_int64(scan->bodies, 2),
        .sum = sum_at(scan->bodies, 6),
        .kind = text_at(scan->bodies, 1, &length),
        .namespace = text_at(scan->bodies, 4, &length),
        .name = text_at(scan->bodies, 5, &length),
    };
    ret_row->body = text_at(scan->bodies, 3, &ret_row->length);
    r = gather_patches(scan, ret_row->row, err);
    ret_row->deltas = scan->deltas;
    ret_row->n_deltas = scan->n_deltas;
    return r < 0 ? r : 1;
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
