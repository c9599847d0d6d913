/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"

/* Another process, such as a backup, has a lock for a moment: when it opens the
 * file of a controller that was killed, it may be the one that recovers the log.
 */
#define BUSY_MS 5000

/* Creates the file first, since SQLite would make it readable by others. An
 * existing file is not opened here: closing it would release the locks that
 * another connection of this process has on it (POSIX).
 */
static int
make_private(const char *path, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno != EEXIST)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    return 0;
}

int
sql_open(const char *path, sqlite3 **ret_db, struct error *err)
{
    static const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    sqlite3 *db = NULL;
    int r = make_private(path, err);

    if (r < 0)
        return r;
    if (sqlite3_open_v2(path, &db, how, NULL) != SQLITE_OK) {
        r = db != NULL ? sql_error(db, err) : -ENOMEM;
        sql_close(db);
        return r;
    }
    sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_busy_timeout(db, BUSY_MS);
    *ret_db = db;
    return 0;
}

void
sql_close(sqlite3 *db)
{
    (void)sqlite3_close_v2(db);
}

static const char *
path_of(sqlite3 *db)
{
    const char *path = sqlite3_db_filename(db, "main");

    return path != NULL ? path : "";
}

static const struct cause {
    int sqlite;
    int code;
    const char *remedy;
} causes[] = {
    {SQLITE_FULL, -ENOSPC,
     "free space on its file system, or raise the limit (df, quota, ulimit "
     "-f); nothing that was acknowledged is lost"},
    {SQLITE_IOERR, -EIO,
     "check the disk and its limits (dmesg, quota, ulimit -f) and start "
     "again; nothing that was acknowledged is lost"},
    {SQLITE_CORRUPT, -EUCLEAN,
     "restore it from a backup, or save what can be read with `sqlite3 FILE "
     ".recover`"},
    {SQLITE_NOTADB, -EUCLEAN,
     "it is not a database, or its beginning was overwritten: restore it "
     "from a backup"},
    {SQLITE_BUSY, -EBUSY, "another process uses it: end that process first"},
    {SQLITE_LOCKED, -EBUSY, "another process uses it: end that process first"},
    {SQLITE_READONLY, -EROFS, "make it and its directory writable"},
    {SQLITE_CANTOPEN, -EACCES, "make it and its directory accessible"},
    {SQLITE_PERM, -EACCES, "make it and its directory accessible"},
    {SQLITE_AUTH, -EACCES, "make it and its directory accessible"},
    {SQLITE_NOMEM, -ENOMEM, "give the process more memory"},
};

static const struct cause *
cause_of(int sqlite)
{
    static const struct cause mistake = {
        .code = -EPROTO,
        .remedy = "this is a bug in Kiln; please report it",
    };

    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
        if (causes[i].sqlite == (sqlite & 0xff))
            return &causes[i];
    return &mistake;
}

/* SQLite does not keep the errno of every failure in a commit. */
static int
sql_errno(sqlite3 *db)
{
    int code = sqlite3_extended_errcode(db) & 0xff;
    int system = sqlite3_system_errno(db);

    if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN)
        return 0;
    return system != 0 ? system : errno;
}

bool
sql_has_no_space(sqlite3 *db)
{
    int system = sql_errno(db);

    return (sqlite3_extended_errcode(db) & 0xff) == SQLITE_FULL || system == ENOSPC
           || system == EDQUOT || system == EFBIG;
}

int
sql_error(sqlite3 *db, struct error *err)
{
    int sqlite = sqlite3_extended_errcode(db);
    const struct cause *cause = cause_of(sqlite);
    int system = sql_errno(db);

    if (sql_has_no_space(db))
        cause = cause_of(SQLITE_FULL);
    return error_set(err, cause->code, "'%s': %s%s%s; %s", path_of(db), sqlite3_errmsg(db),
                     system != 0 ? ": " : "", system != 0 ? strerror(system) : "", cause->remedy);
}

int
sql_exec(sqlite3 *db, const char *text, struct error *err)
{
    errno = 0;
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        return sql_error(db, err);
    return 0;
}

int
sql_prepare(sqlite3 *db, const char *text, sqlite3_stmt **ret_statement, struct error *err)
{
    int r;

    errno = 0;
    r = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL);

    return r == SQLITE_OK ? 0 : sql_error(db, err);
}

int
sql_run(sqlite3_stmt *statement, struct error *err)
{
    int r;

    errno = 0;
    r = sqlite3_step(statement) == SQLITE_DONE ? 0 : sql_error(sqlite3_db_handle(statement), err);
    (void)sqlite3_reset(statement);
    return r;
}

int
sql_number(sqlite3 *db, const char *text, int64_t *ret_number, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int r = sql_prepare(db, text, &statement, err);

    if (r < 0)
        return r;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(statement, 0);
    else
        r = sql_error(db, err);
    (void)sqlite3_finalize(statement);
    return r;
}
