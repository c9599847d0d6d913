/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/schema.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/engine/sql.h"
#include "lib/base/error.h"

#define APPLICATION_ID 0x4b696c6e /* "Kiln" */

/* Ordinary rowid tables whose keys rise, so that rows are added at the end;
 * no secondary index, because what is looked up is looked up in memory. The
 * columns namespace and name are for people. A delta is later than the body
 * of its object.
 */
static const char *const steps[SCHEMA_VERSION] = {
    "CREATE TABLE counters ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " epoch INTEGER NOT NULL,"
    " revision INTEGER NOT NULL,"
    " reserved INTEGER NOT NULL,"
    " job_id INTEGER NOT NULL);"
    "INSERT INTO counters VALUES (1, 0, 0, 0, 0);"
    "CREATE TABLE objects ("
    " id INTEGER PRIMARY KEY,"
    " kind TEXT NOT NULL,"
    " namespace TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " revision INTEGER NOT NULL,"
    " body TEXT NOT NULL);"
    "CREATE TABLE deltas ("
    " revision INTEGER PRIMARY KEY,"
    " object INTEGER NOT NULL,"
    " patch TEXT NOT NULL);",

    /* The count stands apart from the content, which it would rewrite. */
    "CREATE TABLE blobs ("
    " id INTEGER PRIMARY KEY,"
    " digest TEXT NOT NULL,"
    " count INTEGER NOT NULL);"
    "CREATE TABLE blob_contents ("
    " id INTEGER PRIMARY KEY,"
    " content BLOB NOT NULL);"
    "CREATE TABLE secrets ("
    " name TEXT PRIMARY KEY NOT NULL,"
    " value TEXT NOT NULL);",

    /* Of what was written since (checksum.h). */
    ("ALTER TABLE objects ADD COLUMN checksum INTEGER;"
     "ALTER TABLE deltas ADD COLUMN checksum INTEGER;"),
};

static int
refuse_foreign(sqlite3 *db, int64_t version, struct error *err)
{
    const char *path = sqlite3_db_filename(db, "main");
    int64_t application, tables;
    int r;

    r = sql_number(db, "PRAGMA application_id", &application, err);
    if (r == 0)
        r = sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    if (application != APPLICATION_ID && (tables > 0 || version > 0))
        return error_set(err,
                         -ENOTSUP,
                         "'%s' is a database, but not of Kiln: choose another "
                         "state directory",
                         path);
    if (version > SCHEMA_VERSION)
        return error_set(err,
                         -ENOTSUP,
                         "'%s' was written by a later Kiln (schema %lld, this "
                         "one knows %d): start that one, or restore the "
                         "backup made before the upgrade",
                         path,
                         (long long)version,
                         SCHEMA_VERSION);
    return 0;
}

static int
take_steps(sqlite3 *db, int64_t from, int to, struct error *err)
{
    char text[64];
    int r = sql_exec(db, "PRAGMA application_id = 0x4b696c6e", err);

    for (int64_t version = from; r == 0 && version < to; version++)
        r = sql_exec(db, steps[version], err);
    (void)sqlite3_snprintf(sizeof(text), text, "PRAGMA user_version = %d", to);
    if (r == 0)
        r = sql_exec(db, text, err);
    return r;
}

int
schema_migrate_to(sqlite3 *db, int version, struct error *err)
{
    int64_t has;
    int r = sql_number(db, "PRAGMA user_version", &has, err);

    if (r == 0)
        r = refuse_foreign(db, has, err);
    if (r < 0 || has >= version)
        return r;
    r = sql_exec(db, "BEGIN IMMEDIATE", err);
    if (r == 0)
        r = take_steps(db, has, version, err);
    if (r == 0)
        r = sql_exec(db, "COMMIT", err);
    if (r < 0) {
        (void)sql_exec(db, "ROLLBACK", NULL);
        return error_wrap(err,
                          r,
                          "bringing the schema from %lld to %d",
                          (long long)has,
                          version);
    }
    return 0;
}

int
schema_migrate(sqlite3 *db, struct error *err)
{
    return schema_migrate_to(db, SCHEMA_VERSION, err);
}

int
schema_check(sqlite3 *db, struct error *err)
{
    int64_t version;
    int r = sql_number(db, "PRAGMA user_version", &version, err);

    if (r == 0)
        r = refuse_foreign(db, version, err);
    if (r == 0 && version == 0)
        r = error_set(err,
                      -ENOTSUP,
                      "'%s' is no store of Kiln: it has no tables",
                      sqlite3_db_filename(db, "main"));
    return r;
}
