/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - a directory for files of a test, removed when the test is done
 *
 * It is below $TMPDIR or /tmp. A failed test leaves the directory there.
 */
#pragma once

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

static inline char *
scratch_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = xasprintf("%s/kiln-test-XXXXXX", parent != NULL ? parent : "/tmp");

    ck_assert_ptr_nonnull(mkdtemp(path));
    return path;
}

static inline int
scratch_remove_one(const char *path, UNUSED const struct stat *st, UNUSED int type,
                   UNUSED struct FTW *walk)
{
    return remove(path);
}

static inline void
scratch_freep(char **path)
{
    nftw(*path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*path);
}

/* The number of files and folders in a directory. */
static inline unsigned
scratch_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;
    struct dirent *entry;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}
