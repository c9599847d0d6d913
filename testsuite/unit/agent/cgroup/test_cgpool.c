/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgpool.h"

#include <check.h>
#include <string.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/cgroup/test_cgroups.h"

START_TEST(cgroups_are_ready_before_they_are_asked_for)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool;
    struct cgroup *a, *b;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    pool = cgpool_new(root, "t-");
    ck_assert_ptr_null(cgpool_take(pool));

    ck_assert_int_eq(cgpool_fill(pool, 3, NULL), 0);
    a = cgpool_take(pool);
    b = cgpool_take(pool);

    ck_assert_uint_eq(cgpool_ready(pool), 1);
    ck_assert_str_ne(cgroup_name(a), cgroup_name(b));
    test_cgroups_empty(a);
    test_cgroups_empty(b);
    cgpool_free(pool);
    test_cgroups_close(root);
}
END_TEST

START_TEST(a_retired_cgroup_stays_until_its_last_process_is_gone)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool;
    struct cgroup *c, *other;
    pid_t pid;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    pool = cgpool_new(root, "t-");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    ck_assert_int_eq(cgroup_add(c, pid, NULL), 0);

    ck_assert_int_eq(cgpool_make(pool, &other, NULL), 0);
    ck_assert(cgpool_retire(pool, c));
    ck_assert(!cgpool_retire(pool, other));
    ck_assert_uint_eq(cgpool_sweep(pool), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 100 && cgpool_sweep(pool) > 0; i++)
        test_cgroups_pause(10);

    ck_assert_uint_eq(cgpool_retired(pool), 0);
    cgpool_free(pool);
    test_cgroups_close(root);
}
END_TEST

SUITE("cgpool",
      cgroups_are_ready_before_they_are_asked_for,
      a_retired_cgroup_stays_until_its_last_process_is_gone)
