/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volumes/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static void
make_file(const char *dir, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    ck_assert_int_ge(fd, 0);
    close(fd);
}

static bool
is_there(const char *dir, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);

    return access(path, F_OK) == 0;
}

START_TEST(an_absent_directory_counts_as_removed)
{
    ck_assert_int_eq(removal_run(AT_FDCWD, "/no/such/directory"), 0);
}
END_TEST

START_TEST(links_are_removed_and_not_followed)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *gone = xasprintf("%s/gone", dir);
    CLEANUP_FREE char *kept = xasprintf("%s/kept", dir);
    CLEANUP_FREE char *link = xasprintf("%s/gone/link", dir);
    CLEANUP_FREE char *inner = xasprintf("%s/gone/inner", dir);
    CLEANUP_FREE char *deep = xasprintf("%s/gone/inner/link", dir);

    mkdir(gone, 0700);
    mkdir(inner, 0700);
    mkdir(kept, 0700);
    make_file(kept, "file");
    make_file(gone, "file");
    ck_assert_int_eq(symlink(kept, link), 0);
    ck_assert_int_eq(symlink(kept, deep), 0);

    ck_assert_int_eq(removal_run(AT_FDCWD, gone), 0);

    ck_assert(!is_there(dir, "gone"));
    ck_assert(is_there(kept, "file"));
}
END_TEST

/* The tree is deeper than a path may be long, and there are fewer descriptors
 * than levels.
 */
START_TEST(a_tree_may_be_as_deep_as_it_likes)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    struct rlimit few;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);

    ck_assert_int_eq(mkdirat(fd, "gone", 0700), 0);
    ck_assert_int_eq(fchdir(fd), 0);
    ck_assert_int_eq(chdir("gone"), 0);
    for (unsigned i = 0; i < 5000; i++) {
        ck_assert_int_eq(mkdir("a-directory", 0700), 0);
        ck_assert_int_eq(chdir("a-directory"), 0);
    }
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = 32;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);

    ck_assert_int_eq(removal_run(fd, "gone"), 0);

    ck_assert(!is_there(dir, "gone"));
    close(fd);
}
END_TEST

START_TEST(names_like_our_own_are_no_trouble)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *gone = xasprintf("%s/gone", dir);
    static const char *const names[] = {".up-0", ".up-1", ".up-2"};
    int fd;

    mkdir(gone, 0700);
    fd = open(gone, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP_FREE char *inner = xasprintf("%s/.up-0", names[i]);

        ck_assert_int_eq(mkdirat(fd, names[i], 0700), 0);
        ck_assert_int_eq(mkdirat(fd, inner, 0700), 0);
    }
    close(fd);

    ck_assert_int_eq(removal_run(AT_FDCWD, gone), 0);
    ck_assert(!is_there(dir, "gone"));
}
END_TEST

START_TEST(directories_that_their_owner_locked_are_emptied)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *gone = xasprintf("%s/gone", dir);
    CLEANUP_FREE char *locked = xasprintf("%s/gone/locked", dir);

    mkdir(gone, 0700);
    mkdir(locked, 0700);
    make_file(locked, "file");
    ck_assert_int_eq(chmod(locked, 0), 0);

    /* Root can open any directory, so the test becomes another user where
     * possible.
     */
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(dir, 0777), 0);
        ck_assert_int_eq(chown(gone, 65534, 65534), 0);
        ck_assert_int_eq(chown(locked, 65534, 65534), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    ck_assert_int_eq(removal_run(AT_FDCWD, gone), 0);
    ck_assert_int_eq(seteuid(getuid()), 0);
    ck_assert(!is_there(dir, "gone"));
}
END_TEST

SUITE("removal", an_absent_directory_counts_as_removed, links_are_removed_and_not_followed,
      a_tree_may_be_as_deep_as_it_likes, names_like_our_own_are_no_trouble,
      directories_that_their_owner_locked_are_emptied)
