/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/initialize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/directory/location.h"
#include "controller/store/directory/statedir.h"
#include "controller/store/engine/engine.h"
#include "controller/store/engine/sqlite_file.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* Sets *ret_found if the file exists and is not empty. */
static int
find_file(const char *directory, const char *name, bool *ret_found, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, name);
    struct stat st;

    if (stat(path, &st) == 0) {
        *ret_found = st.st_size > 0;
        return 0;
    }
    if (errno != ENOENT)
        return error_set(err, -errno, "cannot access '%s': %s", path, strerror(errno));
    *ret_found = false;
    return 0;
}

int
store_check_present(const struct store_location *location, struct error *err)
{
    const char *directory = location->directory;
    bool found;
    int r = location->database == NULL ? find_file(directory, "kiln.db", &found, err) : 0;

    if (r < 0 || location->database != NULL || found)
        return r;
    return error_set(err, -ENOENT,
                     "the state directory '%s' contains no cluster: for a new "
                     "cluster, run kiln-controller --init once; for an "
                     "existing one, check that its disk is mounted, or "
                     "restore a backup with --restore FILE",
                     directory);
}

/* The files must belong to the service user, also when root runs this. No other
 * thread runs in this process.
 */
static int
become_owner(const char *directory, struct error *err)
{
    struct stat st;

    if (geteuid() != 0 || stat(directory, &st) < 0 || st.st_uid == 0)
        return 0;
    if (setegid(st.st_gid) < 0 || seteuid(st.st_uid) < 0)
        return error_set(err, -errno, "cannot act as the owner of '%s': %s", directory,
                         strerror(errno));
    return 0;
}

/* Refuses to make a new store beside the remains of a cluster whose store was
 * lost.
 */
static int
refuse_remains(const char *directory, struct error *err)
{
    static const char *const names[] = {
        "kiln.db-wal",
        "kiln.db.before-restore",
        "events.db",
        "history.db",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        bool found;
        int r = find_file(directory, names[i], &found, err);

        if (r < 0)
            return r;
        if (found)
            return error_set(err, -EEXIST,
                             "the state directory '%s' has lost its store "
                             "(kiln.db), but contains '%s' of a cluster: "
                             "restore a backup with --restore FILE, or move "
                             "the remaining files away to start a new cluster",
                             directory, names[i]);
    }
    return 0;
}

static int
make_store(const char *directory, const char *path, struct error *err)
{
    const struct engine_sqlite_settings settings = {.path = path};
    struct statedir *lock = NULL;
    struct engine *engine = NULL;
    struct engine_counters counters;
    int r = statedir_open(directory, &lock, err);

    if (r == 0)
        r = engine_sqlite_open(&settings, &engine, &counters, err);
    if (r == 0)
        engine->ops->close(engine);
    statedir_close(lock);
    return r;
}

static int
initialize_file(const char *directory, bool *ret_was_there, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", directory);
    bool was_there = false;
    int r = find_file(directory, "kiln.db", &was_there, err);

    if (r == 0)
        r = was_there ? sqlite_file_has_tables(path, &was_there, err)
                      : refuse_remains(directory, err);
    if (r == 0 && !was_there)
        r = make_store(directory, path, err);
    if (r == 0)
        *ret_was_there = was_there;
    return r;
}

static bool
database_has_cluster(const char *url)
{
    struct engine *engine = NULL;
    struct engine_counters counters;

    if (engine_postgres_attach(url, &engine, &counters, NULL) < 0)
        return false;
    engine->ops->close(engine);
    return true;
}

/* A file beside the name of a database is a mistake: jobs would be forgotten. A controller that
 * serves the database has the directory.
 */
static int
initialize_database(const struct store_location *location, bool *ret_was_there, struct error *err)
{
    struct statedir *lock = NULL;
    bool has_file = false;
    int r = find_file(location->directory, "kiln.db", &has_file, err);

    if (r == 0 && has_file)
        return error_set(err, -EEXIST,
                         "the state directory '%s' has a store (kiln.db) already: copy it into "
                         "the database with --migrate, or move it away",
                         location->directory);
    if (r == 0 && database_has_cluster(location->database)) {
        *ret_was_there = true;
        return 0;
    }
    if (r == 0)
        r = statedir_open(location->directory, &lock, err);
    if (r == 0)
        r = engine_postgres_create(location->database, false, ret_was_there, err);
    statedir_close(lock);
    return r;
}

int
store_initialize(const struct store_location *location, bool *ret_was_there, struct error *err)
{
    int r = become_owner(location->directory, err);

    if (r < 0)
        return r;
    return location->database != NULL ? initialize_database(location, ret_was_there, err)
                                      : initialize_file(location->directory, ret_was_there, err);
}
