/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/spare_dirs.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static ino_t
inode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_ino : 0;
}

static unsigned
count_spare(const char *top)
{
    CLEANUP_FREE char *path = xasprintf("%s/spare", top);

    return scratch_entries(path);
}

START_TEST(a_spare_directory_is_taken_again)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep)
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *first = xasprintf("%s/first", top);
    CLEANUP_FREE char *second = xasprintf("%s/second", top);
    ino_t inode;

    ck_assert_int_eq(spare_dirs_take(spare_dirs, first), -ENOENT);
    ck_assert_int_eq(mkdir(first, 0711), 0);
    inode = inode_of(first);
    spare_dirs_put(spare_dirs, first, "record");
    ck_assert_uint_eq(count_spare(top), 1);
    ck_assert_int_ne(access(first, F_OK), 0);

    ck_assert_int_eq(spare_dirs_take(spare_dirs, second), 0);

    ck_assert_uint_eq(inode_of(second), inode);
    ck_assert_uint_eq(count_spare(top), 0);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, first), -ENOENT);
}
END_TEST

START_TEST(a_directory_that_is_not_empty_stays)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep)
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);
    CLEANUP_FREE char *inside = xasprintf("%s/place/output", top);

    ck_assert_int_eq(mkdir(place, 0711), 0);
    ck_assert_int_eq(mkdir(inside, 0711), 0);

    spare_dirs_put(spare_dirs, place, "record");

    ck_assert_int_eq(access(inside, F_OK), 0);
    ck_assert_uint_eq(count_spare(top), 0);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), -ENOENT);
}
END_TEST

START_TEST(a_directory_that_an_earlier_agent_closed_is_open_to_users_again)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep) struct spare_dirs *spare_dirs = NULL;
    CLEANUP_FREE char *spare = xasprintf("%s/spare", top);
    CLEANUP_FREE char *former = xasprintf("%s/spare/7", top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);
    struct stat st;

    ck_assert_int_eq(mkdir(spare, 0700), 0);
    ck_assert_int_eq(mkdir(former, 0700), 0);
    spare_dirs = spare_dirs_new(top);

    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
    ck_assert_int_eq(stat(place, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0711);
}
END_TEST

/* The kept file remains for the next user of the directory. */
START_TEST(one_file_comes_along_and_goes_with_the_rest)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep)
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);
    CLEANUP_FREE char *kept = xasprintf("%s/place/record", top);
    CLEANUP_FREE char *output = xasprintf("%s/place/output", top);
    ino_t inode;

    ck_assert_int_eq(mkdir(place, 0711), 0);
    ck_assert_int_eq(file_write_atomic(kept, 0600, "x", 1, NULL), 0);
    inode = inode_of(kept);

    spare_dirs_put(spare_dirs, place, "record");
    ck_assert_uint_eq(count_spare(top), 1);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
    ck_assert_uint_eq(inode_of(kept), inode);

    ck_assert_int_eq(mkdir(output, 0711), 0);
    spare_dirs_put(spare_dirs, place, "record");
    ck_assert_uint_eq(count_spare(top), 0);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), -ENOENT);
    ck_assert_int_eq(access(output, F_OK), 0);
    ck_assert_int_ne(access(kept, F_OK), 0);
}
END_TEST

START_TEST(nothing_is_put_over_what_is_there)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep)
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *spare = xasprintf("%s/spare-one", top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);
    CLEANUP_FREE char *inside = xasprintf("%s/place/exit", top);

    ck_assert_int_eq(mkdir(spare, 0711), 0);
    spare_dirs_put(spare_dirs, spare, "record");
    ck_assert_int_eq(mkdir(place, 0711), 0);
    ck_assert_int_eq(mkdir(inside, 0711), 0);

    ck_assert_int_lt(spare_dirs_take(spare_dirs, place), 0);

    ck_assert_int_eq(access(inside, F_OK), 0);
    ck_assert_uint_eq(count_spare(top), 1);
    ck_assert_int_eq(rmdir(inside), 0);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
}
END_TEST

START_TEST(the_next_agent_takes_them_up)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);

    ck_assert_int_eq(mkdir(place, 0711), 0);
    spare_dirs_put(spare_dirs, place, "record");
    spare_dirs_free(spare_dirs);

    spare_dirs = spare_dirs_new(top);

    ck_assert_uint_eq(count_spare(top), 1);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
    spare_dirs_put(spare_dirs, place, "record");
    ck_assert_uint_eq(count_spare(top), 1);
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
    spare_dirs_free(spare_dirs);
}
END_TEST

START_TEST(there_is_room_for_so_many)
{
    CLEANUP(scratch_freep) char *top = scratch_new();
    CLEANUP(spare_dirs_freep)
    struct spare_dirs *spare_dirs = spare_dirs_new(top);
    CLEANUP_FREE char *place = xasprintf("%s/place", top);

    for (int i = 0; i < 70; i++) {
        ck_assert_int_eq(mkdir(place, 0711), 0);
        spare_dirs_put(spare_dirs, place, "record");
        ck_assert_int_ne(access(place, F_OK), 0);
    }

    ck_assert_uint_eq(count_spare(top), 64);
    for (int i = 0; i < 64; i++) {
        ck_assert_int_eq(spare_dirs_take(spare_dirs, place), 0);
        ck_assert_int_eq(rmdir(place), 0);
    }
    ck_assert_int_eq(spare_dirs_take(spare_dirs, place), -ENOENT);
}
END_TEST

SUITE("spare_dirs", a_spare_directory_is_taken_again, a_directory_that_is_not_empty_stays,
      a_directory_that_an_earlier_agent_closed_is_open_to_users_again,
      one_file_comes_along_and_goes_with_the_rest, nothing_is_put_over_what_is_there,
      the_next_agent_takes_them_up, there_is_room_for_so_many)
