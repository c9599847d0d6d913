/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/volumes/tmp_dirs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static char *place, *state;

static struct tmp_dirs *
open_dirs(void)
{
    return tmp_dirs_new(&(struct tmp_dirs_settings){.tmp_dir = place, .state_dir = state});
}

static void
begin(void)
{
    place = scratch_new();
    state = xasprintf("%s/state", place);
    ck_assert_int_eq(mkdir(state, 0700), 0);
}

static void
end(void)
{
    free(state);
    scratch_freep(&place);
}

static char *
name_one(struct tmp_dirs *t)
{
    struct error err = {0};
    char *path = NULL;

    ck_assert_msg(tmp_dirs_name(t, &path, &err) == 0, "%s", err.text);
    return path;
}

static char *
parent_of(const char *path)
{
    return xstrndup(path, (size_t)(strrchr(path, '/') - path));
}

START_TEST(names_have_128_bits_below_a_parent_that_cannot_be_listed)
{
    struct tmp_dirs *t;
    struct stat st;

    begin();
    t = open_dirs();
    CLEANUP_FREE char *one = name_one(t);
    CLEANUP_FREE char *other = name_one(t);
    CLEANUP_FREE char *parent = parent_of(one);

    ck_assert_str_ne(one, other);
    ck_assert_uint_eq(strlen(strrchr(one, '/') + 1), 32);
    ck_assert_int_eq(lstat(parent, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0711);
    ck_assert_int_lt(access(one, F_OK), 0);
    tmp_dirs_free(t, true);
    ck_assert_int_lt(access(parent, F_OK), 0);
    end();
}
END_TEST

START_TEST(the_parent_is_found_again_and_not_when_it_is_another_ones)
{
    struct tmp_dirs *t;
    const char *lures[] = {"link", "mode"};

    begin();
    t = open_dirs();
    CLEANUP_FREE char *first = name_one(t);
    CLEANUP_FREE char *parent = parent_of(first);
    tmp_dirs_free(t, false);

    t = open_dirs();
    CLEANUP_FREE char *again = name_one(t);
    ck_assert_int_eq(strncmp(again, parent, strlen(parent)), 0);
    for (size_t i = 0; i < ARRAY_SIZE(lures); i++) {
        ck_assert_int_eq(rmdir(parent), 0);
        if (i == 0)
            ck_assert_int_eq(symlink(state, parent), 0);
        else
            ck_assert_int_eq(mkdir(parent, 0777), 0);
        CLEANUP_FREE char *next = name_one(t);
        ck_assert_int_ne(strncmp(next, parent, strlen(parent)), 0);
        if (i == 0)
            ck_assert_int_eq(unlink(parent), 0);
        free(parent);
        parent = parent_of(next);
    }
    tmp_dirs_free(t, true);
    end();
}
END_TEST

START_TEST(a_directory_without_a_record_is_put_away)
{
    struct error err = {0};
    bool left = false;

    begin();
    struct tmp_dirs *t = open_dirs();
    CLEANUP_FREE char *used = name_one(t);
    CLEANUP_FREE char *stray = name_one(t);
    CLEANUP_FREE char *inside = xasprintf("%s/file", stray);

    ck_assert_int_eq(mkdir(used, 0700), 0);
    ck_assert_int_eq(mkdir(stray, 0700), 0);
    ck_assert_int_eq(file_write_atomic(inside, 0600, "x", 1, &err), 0);
    ck_assert_int_eq(tmp_dirs_remove(t, stray, &left, &err), 0);

    ck_assert(!left);
    ck_assert_int_lt(access(stray, F_OK), 0);
    ck_assert_int_eq(access(used, F_OK), 0);
    ck_assert_int_eq(tmp_dirs_remove(t, used, &left, &err), 0);
    ck_assert_int_eq(tmp_dirs_remove(t, used, &left, &err), 0);
    tmp_dirs_free(t, true);
    end();
}
END_TEST

SUITE("tmp_dirs", names_have_128_bits_below_a_parent_that_cannot_be_listed,
      the_parent_is_found_again_and_not_when_it_is_another_ones,
      a_directory_without_a_record_is_put_away)
