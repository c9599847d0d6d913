/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/schema_steps.h"

#include <errno.h>

#include "controller/store/engine/sql.h"
#include "lib/base/error.h"
#include "lib/base/version/version.h"

/* A later release may not have the table any more. */
static void
find_writer(const struct schema_steps *s, sqlite3 *db, char *text, size_t size)
{
    sqlite3_stmt *statement = NULL;

    text[0] = '\0';
    if (s->writer != NULL && sqlite3_prepare_v2(db, s->writer, -1, &statement, NULL) == SQLITE_OK
        && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_bytes(statement, 0) > 0)
        (void)sqlite3_snprintf((int)size, text, "version %s, ", sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
}

static int
refuse(const struct schema_steps *s, sqlite3 *db, int64_t version, struct error *err)
{
    const char *path = sqlite3_db_filename(db, "main");
    int64_t application, tables;
    char writer[128];
    int r;

    r = sql_number(db, "PRAGMA application_id", &application, err);
    if (r == 0)
        r = sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    if (application != s->application_id && (tables > 0 || version > 0))
        return error_set(err, -ENOTSUP, "'%s' is a database, but %s", path, s->not_ours);
    if (version <= s->count)
        return 0;
    find_writer(s, db, writer, sizeof(writer));
    return error_set(err, -ENOTSUP,
                     "'%s' was written by a later release of Kiln (%sschema "
                     "%lld; this is version %s, which supports %d): start that "
                     "release, or %s",
                     path, writer, (long long)version, version_text(), s->count, s->newer);
}

int
schema_steps_check(const struct schema_steps *s, sqlite3 *db, struct error *err)
{
    int64_t version;
    int r = sql_number(db, "PRAGMA user_version", &version, err);

    return r == 0 ? refuse(s, db, version, err) : r;
}

static int
set_number(sqlite3 *db, const char *pragma, int64_t number, struct error *err)
{
    char text[64];

    (void)sqlite3_snprintf(sizeof(text), text, "PRAGMA %s = %lld", pragma, (long long)number);
    return sql_exec(db, text, err);
}

static int
take_steps(const struct schema_steps *s, sqlite3 *db, int64_t from, struct error *err)
{
    int r = set_number(db, "application_id", s->application_id, err);

    for (int64_t version = from; r == 0 && version < s->count; version++)
        r = sql_exec(db, s->sql[version], err);
    return r == 0 ? set_number(db, "user_version", s->count, err) : r;
}

int
schema_steps_run(const struct schema_steps *s, sqlite3 *db, struct error *err)
{
    int64_t has;
    int r = sql_number(db, "PRAGMA user_version", &has, err);

    if (r == 0)
        r = refuse(s, db, has, err);
    if (r < 0 || has >= s->count)
        return r;
    r = sql_exec(db, "BEGIN IMMEDIATE", err);
    if (r == 0)
        r = take_steps(s, db, has, err);
    if (r == 0)
        r = sql_exec(db, "COMMIT", err);
    if (r < 0) {
        (void)sql_exec(db, "ROLLBACK", NULL);
        return error_wrap(err, r, "upgrading the schema from %lld to %d", (long long)has, s->count);
    }
    return 0;
}
