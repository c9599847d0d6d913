/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/control.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static char directory[] = "/tmp/kiln-control-XXXXXX";

static void
put(const char *file, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, file);

    ck_assert_int_eq(file_write_atomic(path, 0600, text, strlen(text), NULL), 0);
}

static void
forget(const char *file)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, file);

    unlink(path);
}

START_TEST(numbers_and_keys_are_read)
{
    uint64_t n = 7;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    put("n", "4096\n");
    put("max", "max\n");
    put("bad", "none\n");
    put("keys", "oom 1\noom_kill 3\nlow 0\n");

    ck_assert_int_eq(control_read_number(directory, "n", &n), 0);
    ck_assert_uint_eq(n, 4096);
    ck_assert_int_eq(control_read_number(directory, "max", &n), 0);
    ck_assert_uint_eq(n, UINT64_MAX);
    ck_assert_int_eq(control_read_key(directory, "keys", "oom_kill", &n), 0);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(control_read_number(directory, "bad", &n), -EINVAL);
    ck_assert_int_eq(control_read_key(directory, "keys", "oo", &n), -ENODATA);
    ck_assert_int_eq(control_read_number(directory, "none", &n), -ENOENT);
    ck_assert_uint_eq(n, 3);
    for (size_t i = 0; i < 4; i++)
        forget((const char *[]){"n", "max", "bad", "keys"}[i]);
    rmdir(directory);
}
END_TEST

START_TEST(a_failed_write_names_file_and_value)
{
    struct error err = {0};

    ck_assert_int_eq(control_write("/nonexistent", "memory.max", "12", &err), -ENOENT);

    ck_assert_ptr_nonnull(strstr(err.text, "'12'"));
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/memory.max"));
}
END_TEST

START_TEST(a_tree_is_removed_deepest_first)
{
    CLEANUP_FREE char *deep = NULL;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    deep = xasprintf("%s/a/b/c", directory);
    ck_assert_int_eq(dir_make(deep, 0755, NULL), 0);

    ck_assert_int_eq(control_remove_tree(directory), 0);

    ck_assert_int_eq(access(directory, F_OK), -1);
    ck_assert_int_eq(control_remove_tree(directory), 0);
}
END_TEST

SUITE("control", numbers_and_keys_are_read, a_failed_write_names_file_and_value,
      a_tree_is_removed_deepest_first)
