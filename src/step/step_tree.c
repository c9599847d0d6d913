/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

#define DEPTH        16
#define ENTRIES_MOST 10000 /* of a directory that all users share */
#define OLD_S        60    /* from when on a directory must have its lock */

int
step_tree_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int
remove_one(const char *path, UNUSED const struct stat *st, UNUSED int type,
           UNUSED struct FTW *where)
{
    (void)remove(path);
    return 0;
}

void
step_tree_remove(const char *path)
{
    (void)nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

static void
sweep_one(const char *path)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()
        || time(NULL) - st.st_ctime < OLD_S)
        return;
    fd = step_tree_lock(path);
    if (fd < 0)
        return;
    step_tree_remove(path);
    close(fd);
}

void
step_tree_sweep(const char *base, const char *begin)
{
    DIR *d = opendir(base);
    const struct dirent *e;

    for (int i = 0; d != NULL && i < ENTRIES_MOST && (e = readdir(d)) != NULL; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", base, e->d_name);

        if (strncmp(e->d_name, begin, strlen(begin)) == 0)
            sweep_one(path);
    }
    if (d != NULL)
        closedir(d);
}
