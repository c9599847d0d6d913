/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgroup.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/cgroup/control.h"
#include "agent/cgroup/hierarchy.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/cgroup/test_cgroups.h"

/* Starts a child that joins through the join files, as the shepherd's child
 * does.
 */
static pid_t
start_inside(struct cgroup *c, void (*run)(void))
{
    int doors[CGROUP_MAX_DIRS];
    struct error err = {0};
    int n = cgroup_open_join_files(c, true, doors, &err);
    pid_t pid;

    ck_assert_msg(n > 0, "%s", err.text);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < n; i++)
            if (write(doors[i], "0", 1) != 1)
                _exit(99);
        run();
        _exit(0);
    }
    while (n > 0)
        close(doors[--n]);
    return pid;
}

static void
wait_forever(void)
{
    for (;;)
        pause();
}

static void
fork_and_wait(void)
{
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            wait_forever();
    wait_forever();
}

static void
eat_memory(void)
{
    size_t size = 256u << 20;

    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

static void
burn_cpu(void)
{
    struct timespec now;

    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_nsec < 50000000);
}

static void
read_status(pid_t pid, const char *key, char *value, size_t size)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/status", (int)pid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *line;

    ck_assert_int_eq(file_read(path, 65536, &text, NULL), 0);
    line = strstr(text.text, key);
    ck_assert_ptr_nonnull(line);
    line += strlen(key) + 1;
    snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
}

START_TEST(a_written_value_is_read_back)
{
    static const char text[] = "p1\n2 0 /sys/fs/cgroup/unified/k/p1\n"
                               "1 4 /sys/fs/cgroup/cpuset/a b/p1\n";
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct cgroup *c = NULL;

    ck_assert_int_eq(cgroup_parse(text, &c, NULL), 0);
    cgroup_format(c, &out);

    ck_assert_str_eq(out.text, text);
    ck_assert_str_eq(cgroup_name(c), "p1");
    ck_assert(cgroup_has(c, CONTROLLER_CPUSET));
    ck_assert(!cgroup_has(c, CONTROLLER_MEMORY));
    cgroup_free(c);
}
END_TEST

START_TEST(a_directory_that_is_no_cgroup_is_refused)
{
    static const char *const texts[] = {
        "",
        "p1",
        "p1\n",
        "p1\n2 0 relative\n",
        "p1\n3 0 /x\n",
        "p1\n2 /x\n",
        "p1\nx\n",
        ("p1\n2 0 /1\n2 0 /2\n2 0 /3\n2 0 /4\n2 0 /5\n2 0 /6\n2 0 /7\n"
         "2 0 /8\n2 0 /9\n"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct cgroup *c = NULL;
        struct error err = {0};

        ck_assert_int_eq(cgroup_parse(texts[i], &c, &err), -EINVAL);
        ck_assert_ptr_null(c);
        ck_assert_str_ne(err.text, "");
    }
}
END_TEST

START_TEST(a_process_inside_sees_its_cpus_and_no_other)
{
    struct cgroot *root = test_cgroups_open();
    char seen[64];
    struct cgroup *c;
    pid_t pid;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");
    if (cgroot_ability(root)->cpuset) {
        ck_assert_int_eq(cgroup_set_cpus(c, "0", "0", NULL), 0);
        pid = start_inside(c, wait_forever);
        test_cgroups_pause(100);

        read_status(pid, "Cpus_allowed_list:", seen, sizeof(seen));

        ck_assert_str_eq(seen, "0");
        ck_assert_int_eq(cgroup_is_empty(c), 0);
    }
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(an_impossible_value_names_the_file_and_the_value)
{
    struct cgroot *root = test_cgroups_open();
    struct error err = {0};
    struct cgroup *c;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");
    if (cgroot_ability(root)->cpuset) {
        ck_assert_int_lt(cgroup_set_cpus(c, "5000", "0", &err), 0);

        ck_assert_ptr_nonnull(strstr(err.text, "cpuset.cpus"));
        ck_assert_ptr_nonnull(strstr(err.text, "'5000'"));
    }
    ck_assert_int_eq(cgroup_set_weight(c, 0, NULL), -ERANGE);
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(killing_reaches_every_process_and_the_cgroup_becomes_empty)
{
    struct cgroot *root = test_cgroups_open();
    struct error err = {0};
    struct cgroup *c;
    int tries = 0;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");
    start_inside(c, fork_and_wait);
    test_cgroups_pause(100);
    ck_assert_int_eq(cgroup_remove(c, &err), -EBUSY);

    while (cgroup_is_empty(c) == 0 && tries++ < 100) {
        if (tries == 1 || !cgroot_ability(root)->atomic_kill)
            ck_assert_msg(cgroup_kill(c, &err) == 0, "%s", err.text);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        test_cgroups_pause(10);
    }

    ck_assert_int_eq(cgroup_is_empty(c), 1);
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(usage_tells_cpu_time_peak_memory_and_oom_kills)
{
    struct cgroot *root = test_cgroups_open();
    const struct cgroot_ability *can;
    struct cgroup_usage usage;
    uint64_t working_set = 0;
    struct cgroup *c;
    int status = 0;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    can = cgroot_ability(root);
    c = test_cgroups_make(root, "p");
    waitpid(start_inside(c, burn_cpu), NULL, 0);
    cgroup_read_usage(c, &usage);
    ck_assert(usage.has_cpu == can->cpu_time);
    if (can->cpu_time)
        ck_assert_uint_ge(usage.cpu_user_us + usage.cpu_system_us, 20000);
    ck_assert(cgroup_read_working_set(c, &working_set) == can->memory);
    if (can->memory) {
        ck_assert_uint_lt(working_set, 32u << 20);
        ck_assert_int_eq(cgroup_set_memory(c, 64u << 20, NULL), 0);
        waitpid(start_inside(c, eat_memory), &status, 0);

        cgroup_read_usage(c, &usage);

        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        ck_assert_uint_ge(usage.oom_kills, 1);
        if (can->peak_memory)
            ck_assert_uint_ge(usage.peak_memory_bytes, 60u << 20);
    }
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(a_memory_limit_can_be_raised_and_lowered)
{
    static const uint64_t limits[] = {64u << 20, 128u << 20, 32u << 20};
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");
    for (size_t i = 0; i < 3 && cgroot_ability(root)->memory; i++) {
        struct error err = {0};

        ck_assert_msg(cgroup_set_memory(c, limits[i], &err) == 0, "%s", err.text);
    }
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

/* The value of a file of the cgroup, in the hierarchy that has the file; -1: in
 * none.
 */
static long long
value_of(const struct cgroup *c, const char *v1_file, const char *v2_file)
{
    CLEANUP_STRBUF struct strbuf directories = STRBUF_INIT;
    char *at = NULL;

    cgroup_format(c, &directories);
    for (char *line = strtok_r(directories.text, "\n", &at); line != NULL;
         line = strtok_r(NULL, "\n", &at)) {
        const char *directory = strchr(line, '/');
        uint64_t value;

        if (directory != NULL
            && control_read_number(directory, *line == '1' ? v1_file : v2_file, &value) == 0)
            return (long long)value;
    }
    return -1;
}

START_TEST(huge_pages_are_limited_by_their_size)
{
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");
    if (!cgroot_ability(root)->hugepages) {
        ck_assert_int_eq(cgroup_set_hugepages(c, 2 << 20, 0, NULL), -EOPNOTSUPP);
    } else if (access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK) == 0) {
        ck_assert_int_eq(cgroup_set_hugepages(c, 2 << 20, 8 << 20, NULL), 0);
        ck_assert_int_eq(value_of(c, "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"), 8 << 20);
        ck_assert_int_eq(cgroup_set_hugepages(c, 2 << 20, 0, NULL), 0);
        ck_assert_int_eq(value_of(c, "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"), 0);
    }
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(weight_and_process_limit_are_set_where_they_can_be)
{
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");

    ck_assert_int_eq(cgroup_set_weight(c, 50, NULL),
                     cgroot_ability(root)->weight ? 0 : -EOPNOTSUPP);
    ck_assert_int_eq(cgroup_set_max_processes(c, 100, NULL),
                     cgroot_ability(root)->max_processes ? 0 : -EOPNOTSUPP);
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

SUITE("cgroup", a_written_value_is_read_back, a_directory_that_is_no_cgroup_is_refused,
      a_process_inside_sees_its_cpus_and_no_other, an_impossible_value_names_the_file_and_the_value,
      killing_reaches_every_process_and_the_cgroup_becomes_empty,
      usage_tells_cpu_time_peak_memory_and_oom_kills, a_memory_limit_can_be_raised_and_lowered,
      huge_pages_are_limited_by_their_size, weight_and_process_limit_are_set_where_they_can_be)
