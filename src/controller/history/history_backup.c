/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_backup.h"

#include <errno.h>
#include <unistd.h>

#include "controller/store/directory/backup.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

static char *
path_in(const char *directory)
{
    return xasprintf("%s/history.db", directory);
}

static char *
path_beside(const char *file)
{
    return xasprintf("%s.history", file);
}

int
history_backup_check(const char *file, struct error *err)
{
    CLEANUP_FREE char *to = path_beside(file);

    if (access(to, F_OK) < 0)
        return 0;
    return error_set(err, -EEXIST, "'%s' already exists", to);
}

int
history_backup(const char *directory, const char *file, struct error *err)
{
    CLEANUP_FREE char *from = path_in(directory);
    CLEANUP_FREE char *to = path_beside(file);
    int r = 0;

    if (access(from, F_OK) == 0)
        r = store_copy_database(from, to, err);
    return r < 0 ? error_wrap(err, r, "the store is copied, but history is not") : 0;
}

/* A history that is there stays: it knows what has ended since the copy, and a restore of
 * the store does not undo that (doc/decisions.md, 193).
 */
int
history_restore(const char *directory, const char *file, struct error *err)
{
    CLEANUP_FREE char *from = path_beside(file);
    CLEANUP_FREE char *to = path_in(directory);
    int r = 0;

    if (access(from, F_OK) == 0 && access(to, F_OK) < 0)
        r = store_copy_database(from, to, err);
    return r < 0 ? error_wrap(err, r, "the store is restored, but history is not") : 0;
}
