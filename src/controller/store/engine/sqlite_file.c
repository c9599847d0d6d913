/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/sqlite_file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/engine/schema.h"
#include "controller/store/engine/sql.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

/* Added before agents have reported how far ids and revisions had come. */
#define MORE_IDS       "1000"
#define MORE_REVISIONS "1000000"

/* Records the lost revisions now: a change that the copy lacks is lost, whether
 * or not an agent reports it before the next start of the controller.
 */
static const char rise[] = "BEGIN IMMEDIATE;"
                           "INSERT INTO secrets"
                           " SELECT %Q, revision || ' ' ||"
                           " (max(revision, reserved) + " MORE_REVISIONS " + 1) || ';'"
                           " FROM counters WHERE true"
                           " ON CONFLICT (name) DO UPDATE SET value = value || excluded.value;"
                           "INSERT OR IGNORE INTO secrets"
                           " SELECT %Q, revision FROM counters;"
                           "UPDATE counters SET"
                           " revision = max(revision, reserved) + " MORE_REVISIONS ","
                           " reserved = max(revision, reserved) + " MORE_REVISIONS ","
                           " job_id = job_id + " MORE_IDS ";"
                           "COMMIT;";

static int
open_there(const char *path, sqlite3 **ret_db, struct error *err)
{
    if (access(path, R_OK) < 0)
        return error_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    return sql_open(path, ret_db, err);
}

int
sqlite_file_has_tables(const char *path, bool *ret_has, struct error *err)
{
    sqlite3 *db = NULL;
    int64_t version = 0;
    int r = sql_open(path, &db, err);

    if (r == 0)
        r = sql_number(db, "PRAGMA user_version", &version, err);
    sql_close(db);
    if (r == 0)
        *ret_has = version != 0;
    return r;
}

int
sqlite_file_check(const char *path, struct error *err)
{
    sqlite3 *db = NULL;
    int r = open_there(path, &db, err);

    if (r == 0)
        r = schema_check(db, err);
    sql_close(db);
    return r;
}

/* SQLite's own copy: a snapshot of one moment, even if another process writes
 * meanwhile.
 */
static int
vacuum_into(sqlite3 *db, const char *path, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(db, "VACUUM INTO ?1", &s, err);

    if (r == 0) {
        (void)sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
        r = sql_run(s, err);
    }
    (void)sqlite3_finalize(s);
    return r;
}

int
sqlite_file_copy(const char *from, const char *to, struct error *err)
{
    sqlite3 *db = NULL;
    int r = open_there(from, &db, err);

    if (r == 0)
        r = vacuum_into(db, to, err);
    sql_close(db);
    return r == 0 ? path_sync(to, err) : r;
}

int
sqlite_file_raise(const char *path, const char *lost_secret, const char *restored_secret,
                  struct error *err)
{
    char text[sizeof(rise) + 256];
    sqlite3 *db = NULL;
    int r = sql_open(path, &db, err);

    (void)sqlite3_snprintf(sizeof(text), text, rise, lost_secret, restored_secret);
    if (r == 0)
        r = schema_migrate(db, err);
    if (r == 0)
        r = sql_exec(db, text, err);
    sql_close(db);
    return r == 0 ? path_sync(path, err) : r;
}
