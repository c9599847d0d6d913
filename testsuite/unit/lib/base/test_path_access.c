/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/path_access.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

enum { STRANGER = 54321 };

/* Makes DIR/closed/inner; `closed` gets that mode. */
static char *
path_below(const char *dir, mode_t mode)
{
    CLEANUP_FREE char *closed = xasprintf("%s/closed", dir);
    char *inner = xasprintf("%s/inner", closed);

    ck_assert_int_eq(chmod(dir, 0755), 0);
    ck_assert_int_eq(mkdir(closed, 0755), 0);
    ck_assert_int_eq(mkdir(inner, 0755), 0);
    ck_assert_int_eq(chmod(closed, mode), 0);
    return inner;
}

START_TEST(a_closed_directory_on_the_way_is_named_with_its_owner)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = path_below(dir, 0700);
    CLEANUP_FREE char *wanted = xasprintf("uid %d may not enter '%s/closed' (mode 0700, owned by "
                                          "uid %u)",
                                          STRANGER, dir, (unsigned)geteuid());
    CLEANUP_FREE char *obstacle = NULL;

    obstacle = path_obstacle_dup(path, STRANGER, STRANGER);

    ck_assert_ptr_nonnull(obstacle);
    ck_assert_str_eq(obstacle, wanted);
}
END_TEST

START_TEST(an_open_way_has_no_obstacle)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = path_below(dir, 0711);

    ck_assert_ptr_null(path_obstacle_dup(path, STRANGER, STRANGER));
    ck_assert_ptr_null(path_obstacle_dup(path, geteuid(), getegid()));
}
END_TEST

START_TEST(the_group_counts)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = path_below(dir, 0710);
    CLEANUP_FREE char *obstacle = NULL;

    ck_assert_ptr_null(path_obstacle_dup(path, STRANGER, getegid()));
    obstacle = path_obstacle_dup(path, STRANGER, STRANGER);
    ck_assert_ptr_nonnull(obstacle);
}
END_TEST

START_TEST(an_absent_path_is_no_obstacle)
{
    ck_assert_ptr_null(path_obstacle_dup("/nowhere/at/all", 1, 1));
    ck_assert_ptr_null(path_obstacle_dup("relative/path", 1, 1));
    ck_assert_ptr_null(path_obstacle_dup("", 1, 1));
}
END_TEST

SUITE("path_access", a_closed_directory_on_the_way_is_named_with_its_owner,
      an_open_way_has_no_obstacle, the_group_counts, an_absent_path_is_no_obstacle)
