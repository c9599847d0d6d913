/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/directory/statedir.h"
#include "controller/store/engine/schema.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"

/* Added before agents have reported how far ids and revisions had come. */
#define MORE_IDS       "1000"
#define MORE_REVISIONS "1000000"

/* Records the lost revisions now: a change that the copy lacks is lost, whether
 * or not an agent reports it before the next start of the controller.
 */
static const char rise[] = "BEGIN IMMEDIATE;"
                           "INSERT INTO secrets"
                           " SELECT '" STORE_LOST_REVISIONS "', revision || ' ' ||"
                           " (max(revision, reserved) + " MORE_REVISIONS " + 1) || ';'"
                           " FROM counters WHERE true"
                           " ON CONFLICT (name) DO UPDATE SET value = value || excluded.value;"
                           "INSERT OR IGNORE INTO secrets"
                           " SELECT '" STORE_RESTORED_AT "', revision FROM counters;"
                           "UPDATE counters SET"
                           " revision = max(revision, reserved) + " MORE_REVISIONS ","
                           " reserved = max(revision, reserved) + " MORE_REVISIONS ","
                           " job_id = job_id + " MORE_IDS ";"
                           "COMMIT;";

static int
sync_path(const char *path, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return error_set(err, -errno, "cannot sync '%s': %s", path, strerror(errno));
    return 0;
}

/* Opens an empty file that no other process writes. A killed one may have left a
 * file, which is overwritten, and a journal, which SQLite would roll back into
 * the new copy.
 */
static int
begin_file(const char *path, int *ret_fd, struct error *err)
{
    CLEANUP_FREE char *journal = xasprintf("%s-journal", path);
    CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return error_set(err, -errno, "cannot create '%s': %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY, "another process writes '%s' now", path);
    if (ftruncate(fd, 0) < 0 || (unlink(journal) < 0 && errno != ENOENT))
        return error_set(err, -errno, "cannot empty '%s': %s", path, strerror(errno));
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* SQLite's own copy: a snapshot of one moment, even if another process writes
 * meanwhile.
 */
static int
fill(sqlite3 *db, const char *path, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(db, "VACUUM INTO ?1", &s, err);

    if (r == 0) {
        (void)sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
        r = sql_run(s, err);
    }
    (void)sqlite3_finalize(s);
    return r == 0 ? sync_path(path, err) : r;
}

/* A plain rename would replace a file of that name. NFS cannot rename without
 * replacing, FAT has no links.
 */
static int
give_name(const char *from, const char *to, struct error *err)
{
    CLEANUP_FREE char *path = xstrdup(to);
    int r = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

    if (r < 0 && (errno == EINVAL || errno == ENOSYS)) {
        r = link(from, to);
        if (r == 0)
            (void)unlink(from);
    }
    if (r < 0)
        return errno == EEXIST
                   ? error_set(err, -EEXIST, "'%s' already exists", to)
                   : error_set(err, -errno, "cannot create '%s': %s", to, strerror(errno));
    return sync_path(dirname(path), err);
}

/* The copy gets its name when it is whole: a process that is killed leaves only
 * a file that nobody takes for a backup.
 */
static int
copy(sqlite3 *db, const char *to, struct error *err)
{
    CLEANUP_FREE char *unfinished = xasprintf("%s.new", to);
    CLEANUP_FD int fd = -1;
    int r;

    if (access(to, F_OK) == 0)
        return error_set(err, -EEXIST, "'%s' already exists", to);
    r = begin_file(unfinished, &fd, err);
    if (r < 0)
        return r;
    r = fill(db, unfinished, err);
    if (r < 0)
        (void)unlink(unfinished);
    return r < 0 ? r : give_name(unfinished, to, err);
}

static int
open_there(const char *path, sqlite3 **ret_db, struct error *err)
{
    if (access(path, R_OK) < 0)
        return error_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    return sql_open(path, ret_db, err);
}

/* A backup is as good without this file, so its failure is only reported. */
static void
note_backup(const char *directory)
{
    CLEANUP_FREE char *path = xasprintf("%s/last-backup", directory);
    struct error err = {0};
    int r = file_write_atomic(path, 0600, "", 0, &err);

    if (r == 0)
        r = statedir_give_away(directory, path, &err);
    if (r < 0)
        log_warning("the time of this backup is not recorded for the metrics: %s", err.text);
}

int64_t
store_last_backup_s(const char *directory)
{
    CLEANUP_FREE char *path = xasprintf("%s/last-backup", directory);
    struct stat st;

    return stat(path, &st) == 0 ? st.st_mtime : 0;
}

int64_t
store_file_bytes(const char *directory)
{
    static const char *const names[] = {"kiln.db", "kiln.db-wal"};
    int64_t sum = 0;
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", directory, names[i]);

        if (stat(path, &st) == 0)
            sum += st.st_size;
    }
    return sum;
}

int
store_backup(const char *directory, const char *file, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", directory);
    sqlite3 *db = NULL;
    int r = open_there(path, &db, err);

    if (r == 0)
        r = schema_check(db, err);
    if (r == 0)
        r = copy(db, file, err);
    sql_close(db);
    if (r == 0)
        note_backup(directory);
    return r;
}

static int
go_beyond(const char *path, struct error *err)
{
    sqlite3 *db = NULL;
    int r = sql_open(path, &db, err);

    if (r == 0)
        r = schema_migrate(db, err);
    if (r == 0)
        r = sql_exec(db, rise, err);
    sql_close(db);
    return r == 0 ? sync_path(path, err) : r;
}

int
store_copy_database(const char *from, const char *to, struct error *err)
{
    CLEANUP_FREE char *path = xstrdup(to);
    sqlite3 *db = NULL;
    int r = open_there(from, &db, err);

    if (r == 0)
        r = copy(db, to, err);
    sql_close(db);
    return r == 0 ? statedir_give_away(dirname(path), to, err) : r;
}

/* Files that an earlier restore put aside are kept, too: that restore may have
 * been the mistake.
 */
static char *
name_aside(const char *directory)
{
    for (unsigned i = 0;; i++) {
        CLEANUP_FREE char *suffix =
            i == 0 ? xstrdup("before-restore") : xasprintf("before-restore.%u", i);
        CLEANUP_FREE char *path = xasprintf("%s/kiln.db.%s", directory, suffix);

        if (access(path, F_OK) < 0)
            return xstrdup(suffix);
    }
}

/* The store itself is moved last, so that an interrupted restore can be
 * repeated.
 */
static int
put_aside(const char *directory, struct error *err)
{
    static const char *const files[] = {
        "events.db", "events.db-shm", "events.db-wal", "kiln.db-shm", "kiln.db-wal", "kiln.db",
    };
    CLEANUP_FREE char *suffix = name_aside(directory);

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP_FREE char *from = xasprintf("%s/%s", directory, files[i]);
        CLEANUP_FREE char *to = xasprintf("%s.%s", from, suffix);

        if (rename(from, to) < 0 && errno != ENOENT)
            return error_set(err, -errno, "cannot move '%s' aside: %s", from, strerror(errno));
    }
    return 0;
}

static int
take_place(const char *directory, const char *from, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", directory);
    int r = put_aside(directory, err);

    if (r == 0 && rename(from, path) < 0)
        r = error_set(err, -errno, "cannot make '%s' of '%s': %s", path, from, strerror(errno));
    return r == 0 ? sync_path(directory, err) : r;
}

/* Every step that can fail comes before any file is moved. */
int
store_restore(const char *directory, const char *file, struct error *err)
{
    CLEANUP_FREE char *fresh = xasprintf("%s/kiln.db.restoring", directory);
    struct statedir *lock = NULL;
    sqlite3 *db = NULL;
    int r = open_there(file, &db, err);

    if (r == 0)
        r = schema_check(db, err);
    if (r == 0)
        r = statedir_open(directory, &lock, err);
    if (r == 0) {
        (void)unlink(fresh);
        r = copy(db, fresh, err);
    }
    sql_close(db);
    if (r == 0)
        r = go_beyond(fresh, err);
    if (r == 0)
        r = statedir_give_away(directory, fresh, err);
    if (r == 0)
        r = take_place(directory, fresh, err);
    statedir_close(lock);
    return r;
}
