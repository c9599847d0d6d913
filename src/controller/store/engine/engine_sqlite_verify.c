/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine_sqlite.h"
#include "controller/store/engine/sql.h"

static const char bodies[] = "SELECT id, id, revision, body, checksum, kind, namespace, name"
                             " FROM objects WHERE id > ?1 ORDER BY id LIMIT ?2";
static const char patches[] = "SELECT d.revision, d.object, d.revision, d.patch, d.checksum,"
                              " coalesce(o.kind, '(nothing)'), coalesce(o.namespace, ''),"
                              " coalesce(o.name, d.object)"
                              " FROM deltas AS d LEFT JOIN objects AS o ON o.id = d.object"
                              " WHERE d.revision > ?1 ORDER BY d.revision LIMIT ?2";

static const char *
text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);

    return text != NULL ? text : "";
}

static struct engine_row
row_at(sqlite3_stmt *s)
{
    struct engine_row row = {
        .row = sqlite3_column_int64(s, 1),
        .revision = sqlite3_column_int64(s, 2),
        .body = text_at(s, 3),
        .kind = text_at(s, 5),
        .namespace = text_at(s, 6),
        .name = text_at(s, 7),
    };

    row.length = (size_t)sqlite3_column_bytes(s, 3);
    row.sum.value = sqlite3_column_int64(s, 4);
    row.sum.is_there = sqlite3_column_type(s, 4) != SQLITE_NULL;
    return row;
}

/* The read transaction lasts from the first step of the statement until it is
 * finalized.
 */
int
engine_sqlite_verify(struct engine *engine, struct engine_slice *slice, engine_wrong_fn *wrong,
                     void *context, struct error *err)
{
    sqlite3 *db = engine_sqlite_of(engine)->reader;
    sqlite3_stmt *s = NULL;
    size_t rows = 0, bytes = 0;
    int step = SQLITE_DONE;
    int r = sql_prepare(db, slice->is_in_deltas ? patches : bodies, &s, err);

    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(s, 1, slice->after);
    (void)sqlite3_bind_int64(s, 2, (int64_t)slice->rows);
    while (bytes < slice->bytes && (step = sqlite3_step(s)) == SQLITE_ROW) {
        struct engine_row row = row_at(s);

        if (checksum_verify(&row, NULL) < 0)
            wrong(&row, context);
        slice->after = sqlite3_column_int64(s, 0);
        rows++;
        bytes += row.length;
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        r = sql_error(db, err);
    (void)sqlite3_finalize(s);
    if (r < 0 || step == SQLITE_ROW || rows == slice->rows)
        return r < 0 ? r : 1;
    if (slice->is_in_deltas)
        return 0;
    slice->is_in_deltas = true;
    slice->after = INT64_MIN;
    return 1;
}
