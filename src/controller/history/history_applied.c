/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_applied.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

#define OVERLAP 1000

struct history_applied {
    sqlite3 *db;
    sqlite3_stmt *has, *put, *follow, *forget;
};

void
history_applied_free(struct history_applied *a)
{
    if (a == NULL)
        return;
    (void)sqlite3_finalize(a->has);
    (void)sqlite3_finalize(a->put);
    (void)sqlite3_finalize(a->follow);
    (void)sqlite3_finalize(a->forget);
    free(a);
}

int
history_applied_new(sqlite3 *db, struct history_applied **ret_applied, struct error *err)
{
    struct history_applied *a = xnew(struct history_applied);
    int r;

    a->db = db;
    r = sql_prepare(db, "SELECT 1 FROM applied WHERE id = ?1 AND key = ?2", &a->has, err);
    if (r == 0)
        r = sql_prepare(db, "INSERT OR REPLACE INTO applied (id, key) VALUES (?1, ?2)", &a->put,
                        err);
    if (r == 0)
        r = sql_prepare(db, "UPDATE watermark SET followed = max(followed, ?1)", &a->follow, err);
    if (r == 0)
        r = sql_prepare(db, "DELETE FROM applied WHERE id <= (SELECT followed FROM watermark) - ?1",
                        &a->forget, err);
    if (r < 0) {
        history_applied_free(a);
        return r;
    }
    *ret_applied = a;
    return 0;
}

/* Of the log that was put back everything was read, but for what may have been late
 * then. Nothing before that is read again, as its numbers are forgotten.
 */
static int
go_back(struct history_applied *a, int64_t last, int64_t read_after, struct error *err)
{
    char text[256];

    (void)sqlite3_snprintf(sizeof(text), text,
                           "BEGIN IMMEDIATE;"
                           "UPDATE watermark SET followed = %lld, read_after = min(%lld, %lld);"
                           "DELETE FROM applied WHERE id > %lld;"
                           "COMMIT",
                           (long long)last, (long long)read_after, (long long)last,
                           (long long)last);
    return sql_exec(a->db, text, err);
}

int
history_applied_meet(struct history_applied *a, int64_t last, int64_t *ret_after, struct error *err)
{
    int64_t followed = 0, after = 0;
    int r = sql_number(a->db, "SELECT followed FROM watermark", &followed, err);

    if (r == 0)
        r = sql_number(a->db, "SELECT read_after FROM watermark", &after, err);
    if (followed - OVERLAP > after)
        after = followed - OVERLAP;
    if (r == 0 && last < followed) {
        log_warning("The shared history is an earlier one, which ends at record %lld: %lld had "
                    "been read here; their rows are kept",
                    (long long)last, (long long)followed);
        r = go_back(a, last, after, err);
        after = after < last ? after : last;
    }
    *ret_after = after;
    return r;
}

int
history_applied_has(struct history_applied *a, int64_t id, const char *key, struct error *err)
{
    int r;

    (void)sqlite3_bind_int64(a->has, 1, id);
    (void)sqlite3_bind_text(a->has, 2, key, -1, SQLITE_STATIC);
    r = sqlite3_step(a->has);
    (void)sqlite3_reset(a->has);
    return r == SQLITE_ROW || r == SQLITE_DONE ? r == SQLITE_ROW : sql_error(a->db, err);
}

int
history_applied_put(struct history_applied *a, int64_t id, const char *key, struct error *err)
{
    (void)sqlite3_bind_int64(a->put, 1, id);
    (void)sqlite3_bind_text(a->put, 2, key, -1, SQLITE_STATIC);
    return sql_run(a->put, err);
}

int
history_applied_follow(struct history_applied *a, int64_t id, struct error *err)
{
    int r;

    (void)sqlite3_bind_int64(a->follow, 1, id);
    r = sql_run(a->follow, err);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(a->forget, 1, OVERLAP);
    return sql_run(a->forget, err);
}
