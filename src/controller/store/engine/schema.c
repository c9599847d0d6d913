/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/schema.h"

#include <errno.h>
#include <stdint.h>

#include "controller/store/engine/schema_steps.h"
#include "controller/store/engine/sql.h"
#include "lib/base/error.h"
#include "lib/base/version/version.h"

/* Ordinary rowid tables with rising keys, so that rows are appended; no
 * secondary indexes, since all look-ups are done in memory. The columns
 * namespace and name are for people. A delta has a later revision than the body
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

    /* The count is in another table than the content, so that updating it does
     * not rewrite the content.
     */
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

    /* NULL in rows that were written before this version (checksum.h). */
    ("ALTER TABLE objects ADD COLUMN checksum INTEGER;"
     "ALTER TABLE deltas ADD COLUMN checksum INTEGER;"),

    /* Pods of arrays have the number of their task in a form that controllers of
     * version 3 do not know: they would start tasks with an empty
     * KILN_ARRAY_TASK_ID. The table has the version of the program that opened the
     * file last, for messages.
     */
    "CREATE TABLE writer ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " version TEXT NOT NULL);"
    "INSERT INTO writer VALUES (1, '');",

    /* Jobs of several nodes say that only their first pod runs their program
     * (execution.runs), which controllers of version 4 do not know: they would run
     * it on every node.
     */
    "SELECT 1;",
};

static const struct schema_steps schema = {
    .application_id = 0x4b696c6e, /* "Kiln" */
    .sql = steps,
    .count = SCHEMA_VERSION,
    .not_ours = "not Kiln's: choose another state directory",
    .newer = "restore the backup made before the upgrade",
    .writer = "SELECT version FROM writer",
};

/* It only serves messages, so a full disk is no reason not to start. */
static void
note_writer(sqlite3 *db)
{
    char text[256];

    (void)sqlite3_snprintf(sizeof(text), text, "UPDATE writer SET version = %Q WHERE version <> %Q",
                           version_text(), version_text());
    (void)sql_exec(db, text, NULL);
}

int
schema_migrate(sqlite3 *db, struct error *err)
{
    int r = schema_steps_run(&schema, db, err);

    if (r == 0)
        note_writer(db);
    return r;
}

int
schema_check(sqlite3 *db, struct error *err)
{
    int64_t version;
    int r = schema_steps_check(&schema, db, err);

    if (r == 0)
        r = sql_number(db, "PRAGMA user_version", &version, err);
    if (r == 0 && version == 0)
        r = error_set(err, -ENOTSUP, "'%s' is not a store of Kiln: it has no tables",
                      sqlite3_db_filename(db, "main"));
    return r;
}
