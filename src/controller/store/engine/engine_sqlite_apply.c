/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine_sqlite.h"
#include "controller/store/engine/sql.h"
#include "lib/base/error.h"

static const char *const verb_texts[ENGINE_VERBS] = {
    [ENGINE_INSERT] = "INSERT INTO objects"
                      " (id, kind, namespace, name, revision, body, checksum)"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [ENGINE_UPDATE] = "UPDATE objects SET revision = ?2, body = ?3, checksum = ?4"
                      " WHERE id = ?1",
    [ENGINE_DELETE] = "DELETE FROM objects WHERE id = ?1",
    [ENGINE_ADD_DELTA] = "INSERT INTO deltas"
                         " (revision, object, patch, checksum)"
                         " VALUES (?2, ?1, ?3, ?4)",
    [ENGINE_DROP_DELTA] = "DELETE FROM deltas WHERE revision = ?1",
    [ENGINE_ADD_BLOB] = "INSERT INTO blobs (id, digest, count)"
                        " VALUES (?1, ?2, ?3)",
    [ENGINE_COUNT_BLOB] = "UPDATE blobs SET count = ?2 WHERE id = ?1",
    [ENGINE_DROP_BLOB] = "DELETE FROM blobs WHERE id = ?1",
    [ENGINE_PUT_SECRET] = "INSERT INTO secrets (name, value) VALUES (?1, ?2)"
                          " ON CONFLICT (name) DO UPDATE"
                          " SET value = excluded.value",
    [ENGINE_DROP_SECRET] = "DELETE FROM secrets WHERE name = ?1",
};

int
engine_sqlite_prepare(struct engine_sqlite *e, struct error *err)
{
    const struct {
        sqlite3_stmt **statement;
        const char *text;
    } others[] = {
        {&e->begin, "BEGIN IMMEDIATE"},
        {&e->commit, "COMMIT"},
        {&e->claim, "UPDATE counters SET revision = ?1, reserved = ?2, job_id = ?3"
                    " WHERE epoch = ?4 AND revision = ?5"},
        {&e->add_content, "INSERT INTO blob_contents (id, content) VALUES (?1, ?2)"},
        {&e->drop_content, "DELETE FROM blob_contents WHERE id = ?1"},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(others); i++)
        r = sql_prepare(e->db, others[i].text, others[i].statement, err);
    for (int i = 0; r == 0 && i < ENGINE_VERBS; i++)
        r = sql_prepare(e->db, verb_texts[i], &e->verbs[i], err);
    return r;
}

static void
bind_text(sqlite3_stmt *s, int at, const char *text)
{
    (void)sqlite3_bind_text(s, at, text != NULL ? text : "", -1, SQLITE_STATIC);
}

static void
bind_body(sqlite3_stmt *s, int at, const struct engine_op *op)
{
    (void)sqlite3_bind_text64(s, at, op->bytes, op->length, SQLITE_STATIC, SQLITE_UTF8);
}

static void
bind_checksum(sqlite3_stmt *s, int at, const struct engine_op *op)
{
    (void)sqlite3_bind_int64(s, at, checksum_of(op->row, op->revision, op->bytes, op->length));
}

static void
bind_op(sqlite3_stmt *s, const struct engine_op *op)
{
    switch (op->verb) {
    case ENGINE_INSERT:
        (void)sqlite3_bind_int64(s, 1, op->row);
        bind_text(s, 2, op->kind);
        bind_text(s, 3, op->namespace);
        bind_text(s, 4, op->name);
        (void)sqlite3_bind_int64(s, 5, op->revision);
        bind_body(s, 6, op);
        bind_checksum(s, 7, op);
        break;
    case ENGINE_UPDATE:
    case ENGINE_ADD_DELTA:
        (void)sqlite3_bind_int64(s, 1, op->row);
        (void)sqlite3_bind_int64(s, 2, op->revision);
        bind_body(s, 3, op);
        bind_checksum(s, 4, op);
        break;
    case ENGINE_DELETE:
    case ENGINE_DROP_BLOB:
        (void)sqlite3_bind_int64(s, 1, op->row);
        break;
    case ENGINE_DROP_DELTA:
        (void)sqlite3_bind_int64(s, 1, op->revision);
        break;
    case ENGINE_ADD_BLOB:
        (void)sqlite3_bind_int64(s, 1, op->row);
        bind_text(s, 2, op->name);
        (void)sqlite3_bind_int64(s, 3, op->count);
        break;
    case ENGINE_COUNT_BLOB:
        (void)sqlite3_bind_int64(s, 1, op->row);
        (void)sqlite3_bind_int64(s, 2, op->count);
        break;
    case ENGINE_PUT_SECRET:
        bind_text(s, 1, op->name);
        bind_body(s, 2, op);
        break;
    case ENGINE_DROP_SECRET:
        bind_text(s, 1, op->name);
        break;
    }
}

static int
move_content(struct engine_sqlite *e, const struct engine_op *op, struct error *err)
{
    sqlite3_stmt *s = NULL;

    if (op->verb == ENGINE_ADD_BLOB) {
        s = e->add_content;
        (void)sqlite3_bind_int64(s, 1, op->row);
        (void)sqlite3_bind_blob64(s, 2, op->bytes, op->length, SQLITE_STATIC);
    } else if (op->verb == ENGINE_DROP_BLOB) {
        s = e->drop_content;
        (void)sqlite3_bind_int64(s, 1, op->row);
    }
    return s != NULL ? sql_run(s, err) : 0;
}

/* Every operation changes a row that exists; if it does not, another program
 * has changed the database.
 */
static int
run_op(struct engine_sqlite *e, const struct engine_op *op, struct error *err)
{
    sqlite3_stmt *s = e->verbs[op->verb];
    int r;

    bind_op(s, op);
    r = sql_run(s, err);
    if (r == 0 && !e->is_relaxed && sqlite3_changes(e->db) != 1)
        r = error_set(err, -EUCLEAN,
                      "'%s' was changed by another program (row %lld, "
                      "revision %lld): only Kiln may change it",
                      e->path, (long long)op->row, (long long)op->revision);
    return r == 0 ? move_content(e, op, err) : r;
}

/* Returns 1 if the counters were as expected and are updated, 0 if not. */
static int
claim(struct engine_sqlite *e, const struct engine_batch *batch, struct error *err)
{
    int r;

    (void)sqlite3_bind_int64(e->claim, 1, batch->after.revision);
    (void)sqlite3_bind_int64(e->claim, 2, batch->after.reserved);
    (void)sqlite3_bind_int64(e->claim, 3, batch->after.job_id);
    (void)sqlite3_bind_int64(e->claim, 4, e->epoch);
    (void)sqlite3_bind_int64(e->claim, 5, batch->expected_revision);
    r = sql_run(e->claim, err);
    return r < 0 ? r : sqlite3_changes(e->db);
}

static enum engine_outcome
give_up(struct engine_sqlite *e, enum engine_outcome outcome)
{
    if (!sqlite3_get_autocommit(e->db))
        (void)sql_exec(e->db, "ROLLBACK", NULL);
    return outcome;
}

/* Whether a write found no space. The frames that the commit wrote lack the
 * last one, so they never count as a commit. A failed sync is not such a case.
 */
static bool
has_no_space(sqlite3 *db)
{
    int code = sqlite3_extended_errcode(db);

    return (code & 0xff) == SQLITE_FULL || (code == SQLITE_IOERR_WRITE && sql_has_no_space(db));
}

/* Whether the batch was rolled back and the database is as it was before. */
static bool
is_as_before(struct engine_sqlite *e, const struct engine_batch *batch)
{
    int64_t revision, epoch;

    return sqlite3_get_autocommit(e->db)
           && sql_number(e->db, "SELECT revision FROM counters", &revision, NULL) == 0
           && sql_number(e->db, "SELECT epoch FROM counters", &epoch, NULL) == 0
           && revision == batch->expected_revision && epoch == e->epoch;
}

static enum engine_outcome
fail(struct engine_sqlite *e, const struct engine_batch *batch, bool is_full)
{
    (void)give_up(e, ENGINE_UNKNOWN);
    return is_full && is_as_before(e, batch) ? ENGINE_REFUSED : ENGINE_UNKNOWN;
}

enum engine_outcome
engine_sqlite_apply(struct engine *engine, const struct engine_batch *batch, struct error *err)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);
    int r = sql_run(e->begin, err);

    if (r == 0)
        r = claim(e, batch, err);
    if (r == 0) {
        error_set(err, -ESTALE,
                  "'%s' was taken over by another process: only one may "
                  "serve it",
                  e->path);
        return give_up(e, ENGINE_FENCED);
    }
    for (size_t i = 0; r > 0 && i < batch->n_ops; i++) {
        int done = run_op(e, &batch->ops[i], err);

        if (done < 0)
            r = done;
    }
    if (r > 0)
        r = sql_run(e->commit, err);
    if (r < 0) {
        error_wrap(err, r, "cannot commit");
        return fail(e, batch, has_no_space(e->db));
    }
    return ENGINE_COMMITTED;
}
