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

#include "controller/store/directory/location.h"
#include "controller/store/directory/statedir.h"
#include "controller/store/engine/engine.h"
#include "controller/store/engine/engine_copy.h"
#include "controller/store/engine/sqlite_file.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"

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
    return path_sync(dirname(path), err);
}

/* Fills an empty file with a copy of a store. */
typedef int fill_fn(const char *from, const char *to, struct error *err);

/* The copy gets its name when it is whole: a process that is killed leaves only
 * a file that nobody takes for a backup.
 */
static int
copy(fill_fn *fill, const char *from, const char *to, struct error *err)
{
    CLEANUP_FREE char *unfinished = xasprintf("%s.new", to);
    CLEANUP_FD int fd = -1;
    int r;

    if (access(to, F_OK) == 0)
        return error_set(err, -EEXIST, "'%s' already exists", to);
    r = begin_file(unfinished, &fd, err);
    if (r < 0)
        return r;
    r = fill(from, unfinished, err);
    if (r < 0)
        (void)unlink(unfinished);
    return r < 0 ? r : give_name(unfinished, to, err);
}

/* The rows of a database as a file of SQLite: every engine's backup has one form. */
static int
fill_from_database(const char *url, const char *to, struct error *err)
{
    const struct engine_sqlite_settings settings = {.path = to};
    struct engine_counters from_counters, to_counters;
    struct engine *from = NULL, *file = NULL;
    int r = engine_postgres_attach(url, &from, &from_counters, err);

    if (r == 0)
        r = engine_sqlite_open(&settings, &file, &to_counters, err);
    if (r == 0)
        r = engine_copy(from, &from_counters, file, &to_counters, err);
    if (file != NULL)
        file->ops->close(file);
    if (from != NULL)
        from->ops->close(from);
    return r == 0 ? path_sync(to, err) : r;
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
store_backup(const struct store_location *location, const char *file, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", location->directory);
    int r;

    if (location->database != NULL) {
        r = copy(fill_from_database, location->database, file, err);
    } else {
        r = sqlite_file_check(path, err);
        if (r == 0)
            r = copy(sqlite_file_copy, path, file, err);
    }
    if (r == 0)
        note_backup(location->directory);
    return r;
}

int
store_copy_database(const char *from, const char *to, struct error *err)
{
    CLEANUP_FREE char *path = xstrdup(to);
    int r = copy(sqlite_file_copy, from, to, err);

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
    return r == 0 ? path_sync(directory, err) : r;
}

/* A database of a cluster that has run is left as it is: its administrator drops
 * it, or names another one.
 */
static int
fill_database(const char *url, const char *from, struct error *err)
{
    const struct engine_sqlite_settings settings = {.path = from, .must_exist = true};
    const struct engine_postgres_settings database = {.url = url, .place = "restore"};
    struct engine_counters from_counters, to_counters;
    struct engine *file = NULL, *to = NULL;
    bool was_there;
    int r = engine_sqlite_open(&settings, &file, &from_counters, err);

    if (r == 0)
        r = engine_postgres_create(url, true, &was_there, err);
    if (r == 0)
        r = engine_postgres_open(&database, &to, &to_counters, err);
    if (r == 0)
        r = engine_copy(file, &from_counters, to, &to_counters, err);
    if (to != NULL)
        to->ops->close(to);
    if (file != NULL)
        file->ops->close(file);
    return r;
}

/* Every step that can fail comes before any file is moved. */
int
store_restore(const struct store_location *location, const char *file, struct error *err)
{
    const char *directory = location->directory;
    CLEANUP_FREE char *fresh = xasprintf("%s/kiln.db.restoring", directory);
    struct statedir *lock = NULL;
    int r = sqlite_file_check(file, err);

    if (r == 0)
        r = statedir_open(directory, &lock, err);
    if (r == 0) {
        (void)unlink(fresh);
        r = copy(sqlite_file_copy, file, fresh, err);
    }
    if (r == 0)
        r = sqlite_file_raise(fresh, STORE_LOST_REVISIONS, STORE_RESTORED_AT, err);
    if (r == 0)
        r = statedir_give_away(directory, fresh, err);
    if (r == 0 && location->database == NULL) {
        r = take_place(directory, fresh, err);
    } else if (r == 0) {
        r = fill_database(location->database, fresh, err);
        (void)unlink(fresh);
    }
    statedir_close(lock);
    return r;
}

/* The file stays, under a name that no controller opens. */
int
store_migrate(const struct store_location *location, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", location->directory);
    CLEANUP_FREE char *aside = xasprintf("%s.migrated", path);
    struct statedir *lock = NULL;
    int r = sqlite_file_check(path, err);

    if (r == 0 && access(aside, F_OK) == 0)
        r = error_set(err, -EEXIST, "'%s' of an earlier migration is there: move it away", aside);
    if (r == 0)
        r = statedir_open(location->directory, &lock, err);
    if (r == 0)
        r = fill_database(location->database, path, err);
    if (r == 0 && rename(path, aside) < 0)
        r = error_set(err, -errno, "cannot rename '%s' to '%s': %s", path, aside, strerror(errno));
    statedir_close(lock);
    return r;
}
