/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/path_access.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

static bool
may_enter(const char *directory, const struct stat *st, uid_t uid, gid_t gid)
{
    mode_t search = S_IXOTH;

    if (uid == geteuid())
        return faccessat(AT_FDCWD, directory, X_OK, AT_EACCESS) == 0;
    if (uid == 0)
        return true;
    if (st->st_uid == uid)
        search = S_IXUSR;
    else if (st->st_gid == gid)
        search = S_IXGRP;
    return (st->st_mode & search) != 0;
}

char *
path_obstacle_dup(const char *path, uid_t uid, gid_t gid)
{
    CLEANUP_FREE char *directory = xstrdup(path);
    struct stat st;

    if (path[0] != '/')
        return NULL;
    for (char *end = strchr(directory + 1, '/'); end != NULL; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (stat(directory, &st) < 0)
            return NULL;
        if (S_ISDIR(st.st_mode) && !may_enter(directory, &st, uid, gid))
            return xasprintf("uid %u may not enter '%s' (mode %04o, owned by "
                             "uid %u)",
                             (unsigned)uid, directory, (unsigned)st.st_mode & 07777,
                             (unsigned)st.st_uid);
        *end = '/';
    }
    return NULL;
}
