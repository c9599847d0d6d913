/* SPDX-License-Identifier: Apache-2.0 */
/* An index of ten million rows takes minutes to make. A controller must serve within seconds, so
 * indexes without which questions are only slower are made after the start. They are no version
 * of the schema, for an earlier release keeps an index that it does not know.
 */
#include "controller/history/history_index.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/engine/sql.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"

#define STEPS_BETWEEN 10000 /* SQLite VM steps between checks of `stops` */

static const struct {
    const char *name, *text;
    const char *replaces; /* or NULL */
} indexes[] = {
    {HISTORY_INDEX_STATE, "CREATE INDEX " HISTORY_INDEX_STATE " ON attempts (state, end_at)", NULL},
    {HISTORY_INDEX_PARTITION,
     "CREATE INDEX " HISTORY_INDEX_PARTITION " ON attempts (partition, end_at)", NULL},
    {HISTORY_INDEX_UID_STATE,
     "CREATE INDEX " HISTORY_INDEX_UID_STATE " ON attempts (uid, state, end_at)",
     HISTORY_INDEX_UID},
    {HISTORY_INDEX_ACCOUNT_STATE,
     "CREATE INDEX " HISTORY_INDEX_ACCOUNT_STATE " ON attempts (account, state, end_at)",
     HISTORY_INDEX_ACCOUNT},
    {HISTORY_INDEX_NAME,
     "CREATE INDEX " HISTORY_INDEX_NAME " ON attempts (" HISTORY_NAME ", end_at)", NULL},
};

bool
history_index_is_there(sqlite3 *db, const char *name)
{
    sqlite3_stmt *s = NULL;
    bool is_there;

    if (sql_prepare(db,
                    "SELECT 1 FROM sqlite_schema"
                    " WHERE type = 'index' AND name = ?1",
                    &s, NULL)
        < 0)
        return false;
    (void)sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    is_there = sqlite3_step(s) == SQLITE_ROW;
    (void)sqlite3_finalize(s);
    return is_there;
}

static void
log_begin(sqlite3 *db, const char *name)
{
    int64_t has_rows = 0;

    if (sql_number(db, "SELECT EXISTS (SELECT 1 FROM attempts)", &has_rows, NULL) == 0
        && has_rows != 0)
        log_info("Creating the history index %s; rows of attempts that end "
                 "meanwhile are written afterwards",
                 name);
}

static int
has_to_stop(void *context)
{
    return atomic_load((atomic_bool *)context);
}

static int
drop_replaced(sqlite3 *db, const char *name, struct error *err)
{
    char text[64];

    if (name == NULL || !history_index_is_there(db, name))
        return 0;
    (void)sqlite3_snprintf(sizeof(text), text, "DROP INDEX %s", name);
    return sql_exec(db, text, err);
}

/* Rows are sorted on the disk, not in memory. */
static int
build_missing(sqlite3 *db, atomic_bool *stops, struct error *err)
{
    int r = sql_exec(db,
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA temp_store = FILE;"
                     "PRAGMA journal_size_limit = 67108864;",
                     err);

    sqlite3_progress_handler(db, STEPS_BETWEEN, has_to_stop, stops);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(indexes); i++) {
        if (atomic_load(stops))
            break;
        if (!history_index_is_there(db, indexes[i].name)) {
            log_begin(db, indexes[i].name);
            r = sql_exec(db, indexes[i].text, err);
        }
        if (r == 0)
            r = drop_replaced(db, indexes[i].replaces, err);
    }
    if (atomic_load(stops))
        r = error_set(err, -ECANCELED, "it is being stopped");
    return r;
}

int
history_index_build(const char *path, atomic_bool *stops, struct error *err)
{
    sqlite3 *db = NULL;
    int r = sql_open(path, &db, err);

    if (r == 0)
        r = build_missing(db, stops, err);
    sql_close(db);
    return r;
}
