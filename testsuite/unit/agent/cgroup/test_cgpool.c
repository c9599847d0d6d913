/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgpool.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cgroup/cgroup_state.h"
#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/cgroup/test_cgroups.h"

START_TEST(cgroups_are_ready_before_they_are_asked_for)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool;
    struct cgroup *a, *b, *c;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    pool = cgpool_new(root, "t-");
    ck_assert_ptr_null(cgpool_take(pool));

    ck_assert_int_eq(cgpool_fill(pool, 3, NULL), 0);
    a = cgpool_take(pool);
    b = cgpool_take(pool);
    c = cgpool_take(pool);

    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_null(cgpool_take(pool));
    ck_assert_str_ne(cgroup_name(a), cgroup_name(b));
    test_cgroups_empty(a);
    test_cgroups_empty(b);
    test_cgroups_empty(c);
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

    ck_assert_uint_eq(cgpool_sweep(pool), 0);
    cgpool_free(pool);
    test_cgroups_close(root);
}
END_TEST

/* ---- Reuse ---- */

static void
burn(void)
{
    volatile unsigned long n = 0;

    for (clock_t until = clock() + CLOCKS_PER_SEC / 20; clock() < until;)
        n++;
}

static void
eat(void)
{
    const size_t size = 48u << 20;
    char *bytes = xmalloc(size);

    memset(bytes, 1, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static int
run_inside(struct cgroup *c, void (*what)(void))
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        if (cgroup_add(c, 0, NULL) < 0)
            _exit(1);
        what();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    while (cgroup_is_empty(c) == 0)
        test_cgroups_pause(1);
    return status;
}

static const struct cgroup_directory *
find_directory(const struct cgroup *c, unsigned controller)
{
    for (unsigned i = 0; i < c->n_directories; i++)
        if (c->directories[i].controllers & controller)
            return &c->directories[i];
    return NULL;
}

/* NULL, and the test checks nothing, where the kernel's counters prevent reuse.
 */
static struct cgpool *
open_pool(struct cgroot *root)
{
    struct cgpool *pool = cgpool_new(root, "t-");
    struct cgroup *c = NULL;
    bool can_be_reset;

    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    can_be_reset = cgroup_reset(c) == 0;
    test_cgroups_empty(c);
    if (can_be_reset)
        return pool;
    printf("# not shown: no cgroup can be used again here\n");
    cgpool_free(pool);
    test_cgroups_close(root);
    return NULL;
}

static void
close_pool(struct cgpool *pool, struct cgroot *root)
{
    for (int i = 0; i < 100 && cgpool_sweep(pool) > 0; i++)
        test_cgroups_pause(10);
    ck_assert_uint_eq(cgpool_sweep(pool), 0);
    cgpool_free(pool);
    test_cgroups_close(root);
}

/* Usage of former pods does not count for the next pod, whoever reads it: a
 * shepherd, or an agent that was started later.
 */
START_TEST(a_cgroup_given_back_is_as_good_as_new)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    struct cgroup *c = NULL, *same;
    struct cgroup_usage usage;
    CLEANUP_FREE char *name = NULL;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    name = xstrdup(cgroup_name(c));
    ck_assert(!cgroup_was_used(c));
    run_inside(c, burn);
    run_inside(c, eat);
    cgroup_read_usage(c, &usage);
    ck_assert_uint_ge(usage.cpu_user_us + usage.cpu_system_us, 20000);

    for (int i = 0; i < 3; i++) {
        test_cgroups_pause(300); /* charges of the last pod go a moment later */
        ck_assert(cgpool_give_back(pool, c));
        ck_assert_uint_eq(cgpool_sweep(pool), 0);
        c = cgpool_take(pool);
        ck_assert_ptr_nonnull(c);

        ck_assert_str_eq(cgroup_name(c), name);
        ck_assert(cgroup_was_used(c));
        cgroup_read_usage(c, &usage);
        ck_assert_uint_eq(usage.cpu_user_us + usage.cpu_system_us, 0);
        ck_assert_uint_lt(usage.peak_memory_bytes, 1u << 20);
        run_inside(c, burn);
        ck_assert_int_eq(cgroot_find(root, name, &same, NULL), 0);
        cgroup_read_usage(same, &usage);
        ck_assert_uint_ge(usage.cpu_user_us + usage.cpu_system_us, 20000);
        ck_assert_uint_lt(usage.cpu_user_us + usage.cpu_system_us, 95000);
        ck_assert_uint_lt(usage.peak_memory_bytes, 8u << 20);
        cgroup_free(same);
    }
    test_cgroups_empty(c);
    close_pool(pool, root);
}
END_TEST

START_TEST(a_cgroup_with_a_process_is_nobody_elses)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    struct cgroup *c = NULL;
    pid_t pid;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    ck_assert_int_eq(cgroup_add(c, pid, NULL), 0);

    cgpool_give_back(pool, c);

    ck_assert_uint_eq(cgpool_sweep(pool), 1);
    ck_assert_ptr_null(cgpool_take(pool));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close_pool(pool, root);
}
END_TEST

/* A counter that cannot be reset would be read as the next pod's. */
START_TEST(a_cgroup_that_saw_an_oom_kill_is_removed)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    struct cgroup *c = NULL;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    if (cgroot_ability(root)->memory) {
        ck_assert_int_eq(cgroup_set_memory(c, 16u << 20, NULL), 0);
        ck_assert(WIFSIGNALED(run_inside(c, eat)));
        test_cgroups_pause(300);
        ck_assert_int_eq(cgroup_reset(c), -EOPNOTSUPP);
        cgpool_give_back(pool, c);
        cgpool_sweep(pool);
        ck_assert_ptr_null(cgpool_take(pool));
    } else
        test_cgroups_empty(c);
    close_pool(pool, root);
}
END_TEST

static void
wait_for_ever(void)
{
    for (;;)
        pause();
}

/* The kernel kills processes that are created in this cgroup later, as job.t
 * has found.
 */
START_TEST(a_cgroup_that_was_killed_is_removed)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct cgroup *c = NULL, *shepherds;
    pid_t pid;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    pid = fork();
    if (pid == 0)
        wait_for_ever();
    ck_assert_int_eq(cgroup_add(c, pid, NULL), 0);
    cgroup_format(c, &text);
    ck_assert_int_eq(cgroup_parse(text.text, &shepherds, NULL), 0);
    ck_assert_int_eq(cgroup_kill(shepherds, NULL), 0);
    waitpid(pid, NULL, 0);
    while (cgroup_is_empty(c) == 0)
        test_cgroups_pause(1);

    ck_assert_int_eq(cgroup_reset(c), -EOPNOTSUPP);

    cgroup_free(shepherds);
    test_cgroups_empty(c);
    close_pool(pool, root);
}
END_TEST

START_TEST(a_cgroup_with_others_inside_is_removed_with_them)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    CLEANUP_FREE char *inside = NULL;
    struct cgroup *c = NULL;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    inside = xasprintf("%s/inside", c->directories[c->n_directories - 1].is_lazy
                                        ? c->directories[0].directory
                                        : c->directories[c->n_directories - 1].directory);
    ck_assert_int_eq(mkdir(inside, 0755), 0);

    cgpool_give_back(pool, c);

    cgpool_sweep(pool);
    ck_assert_ptr_null(cgpool_take(pool));
    ck_assert_int_ne(access(inside, F_OK), 0);
    close_pool(pool, root);
}
END_TEST

START_TEST(a_permanent_setting_rules_the_reuse_of_a_cgroup_out)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    struct cgroup *c = NULL;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    if (find_directory(c, CONTROLLER_DEVICES) != NULL) {
        const struct device_number denied = {false, 1, 5};

        ck_assert_int_eq(cgroup_deny_devices(c, &denied, 1, NULL), 0);
        ck_assert_int_eq(cgroup_reset(c), -EOPNOTSUPP);
    }
    test_cgroups_empty(c);
    close_pool(pool, root);
}
END_TEST

static void
check_value(const struct cgroup_directory *p, const char *file, const char *is)
{
    CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(control_read(p->directory, file, &value, NULL), 0);
    ck_assert_str_eq(value.text, is);
}

START_TEST(limits_of_the_last_pod_do_not_hold_for_the_next)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    const struct cgroot_ability *can;
    struct cgroup *c = NULL, *fresh = NULL;
    struct error err = {0};

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    can = cgroot_ability(root);
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    ck_assert_int_eq(cgpool_make(pool, &fresh, NULL), 0);
    if (can->memory)
        ck_assert_int_eq(cgroup_set_memory(c, 16u << 20, NULL), 0);
    if (can->max_processes)
        ck_assert_int_eq(cgroup_set_max_processes(c, 7, NULL), 0);
    if (can->weight) {
        ck_assert_int_eq(cgroup_set_weight(fresh, 100, NULL), 0);
        ck_assert_int_eq(cgroup_set_weight(c, 7, NULL), 0);
    }
    if (can->cpuset)
        ck_assert_int_eq(cgroup_set_cpus(c, "0", "0", NULL), 0);
    ck_assert_int_eq(cgroup_reset(c), 0);
    if (can->max_processes)
        ck_assert_int_eq(cgroup_set_max_processes(c, 9, NULL), 0);

    ck_assert_msg(cgroup_set_back(c, &err) == 0, "%s", err.text);

    if (can->max_processes)
        check_value(find_directory(c, CONTROLLER_PIDS), "pids.max", "9");
    for (unsigned i = 0; i < c->n_directories; i++) {
        static const char *const files[] = {"cpu.shares", "cpu.weight", "memory.limit_in_bytes",
                                            "cpuset.cpus", "cpuset.mems"};

        for (size_t j = 0; j < ARRAY_SIZE(files); j++) {
            CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;

            if (control_read(fresh->directories[i].directory, files[j], &value, NULL) == 0)
                check_value(&c->directories[i], files[j], value.text);
        }
    }
    test_cgroups_empty(fresh);
    test_cgroups_empty(c);
    close_pool(pool, root);
}
END_TEST

START_TEST(cgroups_from_before_a_change_of_the_machine_are_removed)
{
    struct cgroot *root = test_cgroups_open();
    struct cgpool *pool = root != NULL ? open_pool(root) : NULL;
    struct cgroup *c = NULL;

    if (pool == NULL)
        SKIP("no cgroup may be made here");
    ck_assert_int_eq(cgpool_make(pool, &c, NULL), 0);
    ck_assert_int_eq(cgpool_fill(pool, 2, NULL), 0);

    cgpool_renew(pool);
    cgpool_give_back(pool, c);
    cgpool_sweep(pool);

    ck_assert_ptr_null(cgpool_take(pool));
    close_pool(pool, root);
}
END_TEST

SUITE("cgpool", cgroups_are_ready_before_they_are_asked_for,
      a_retired_cgroup_stays_until_its_last_process_is_gone, a_cgroup_given_back_is_as_good_as_new,
      a_cgroup_with_a_process_is_nobody_elses, a_cgroup_that_saw_an_oom_kill_is_removed,
      a_cgroup_that_was_killed_is_removed, a_cgroup_with_others_inside_is_removed_with_them,
      a_permanent_setting_rules_the_reuse_of_a_cgroup_out,
      limits_of_the_last_pod_do_not_hold_for_the_next,
      cgroups_from_before_a_change_of_the_machine_are_removed)
