/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgroot.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/cgroup/test_cgroups.h"

static int
count_visit(const char *name, void *context)
{
    ck_assert_ptr_nonnull(strchr("ab", *name));
    (*(int *)context)++;
    return 0;
}

START_TEST(cgroups_are_listed_and_found_again)
{
    struct cgroot *root = test_cgroups_open();
    struct cgroup *a, *b, *again = NULL;
    int count = 0;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    a = test_cgroups_make(root, "a");
    b = test_cgroups_make(root, "b");

    ck_assert_int_eq(cgroot_list(root, count_visit, &count), 0);
    ck_assert_int_eq(cgroot_find(root, "a", &again, NULL), 0);

    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(cgroup_is_empty(again), 1);
    ck_assert_int_eq(cgroot_find(root, "c", &again, NULL), -ENOENT);
    cgroup_free(again);
    test_cgroups_empty(a);
    test_cgroups_empty(b);
    test_cgroups_close(root);
}
END_TEST

START_TEST(a_name_is_used_once)
{
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c, *twin = NULL;

    if (root == NULL)
        SKIP("no cgroup may be made here");
    c = test_cgroups_make(root, "p");

    ck_assert_int_eq(cgroot_make(root, "p", &twin, NULL), -EEXIST);

    ck_assert_ptr_null(twin);
    ck_assert_int_eq(cgroup_is_empty(c), 1);
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

START_TEST(names_that_would_leave_the_base_are_refused)
{
    static const char *const names[] = {"",          ".",       "..",     "a/b", "/",
                                        "shepherds", "readers", "keeper", "a\nb"};
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c = NULL;

    if (root == NULL)
        SKIP("no cgroup may be made here");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_assert_int_eq(cgroot_make(root, names[i], &c, NULL), -EINVAL);
        ck_assert_int_eq(cgroot_find(root, names[i], &c, NULL), -EINVAL);
    }
    test_cgroups_close(root);
}
END_TEST

START_TEST(a_base_that_is_no_path_is_refused)
{
    static const char *const bases[] = {"",      "/",     "kiln",   "/a/",
                                        "/a//b", "/../x", "/a/./b", "/a\nb"};

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        struct cgroot_settings settings = {.base = bases[i]};
        struct cgroot *root = NULL;
        struct error err = {0};

        ck_assert_int_eq(cgroot_open(&settings, &root, &err), -EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "is not the path"));
    }
}
END_TEST

START_TEST(a_machine_without_cgroups_says_so)
{
    static const char mounts[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
    char path[] = "/tmp/kiln-mounts-XXXXXX";
    struct cgroot_settings settings = {.base = "/kiln", .mountinfo = path};
    struct cgroot *root = NULL;
    struct error err = {0};
    int fd = mkstemp(path);

    ck_assert_int_eq(fd_write_all(fd, mounts, strlen(mounts)), 0);
    close(fd);

    ck_assert_int_eq(cgroot_open(&settings, &root, &err), -EOPNOTSUPP);

    unlink(path);
    ck_assert_ptr_null(root);
    ck_assert_ptr_nonnull(strstr(err.text, "mount cgroup2"));
}
END_TEST

START_TEST(a_nested_base_is_made_all_the_way_down)
{
    char base[64];
    struct cgroot_settings settings = {.base = base};
    struct cgroot *root = NULL;
    struct cgroot *outer = test_cgroups_open();
    struct error err = {0};

    if (outer == NULL)
        SKIP("no cgroup may be made here");
    snprintf(base, sizeof(base), "/kiln-test-%ld/x/jobs", (long)getpid());

    ck_assert_msg(cgroot_open(&settings, &root, &err) == 0, "%s", err.text);

    ck_assert_int_eq(cgroot_ability(root)->cpuset, cgroot_ability(outer)->cpuset);
    test_cgroups_empty(test_cgroups_make(root, "p"));
    test_cgroups_close(root);
    snprintf(base, sizeof(base), "/kiln-test-%ld/x", (long)getpid());
    ck_assert_int_eq(cgroot_open(&settings, &root, NULL), 0);
    test_cgroups_close(root);
    test_cgroups_close(outer);
}
END_TEST

/* The keeper is like a unit's own process in the cgroup that is delegated to
 * the unit.
 */
START_TEST(a_process_that_keeps_a_delegated_base_alive_makes_room)
{
    char base[64], inner[96], home[160], seen[512] = "";
    struct cgroot_settings settings = {.base = inner};
    struct cgroot *root = NULL;
    struct cgroot *outer = test_cgroups_open();
    struct cgroup *unit;
    struct error err = {0};
    pid_t keeper;
    int fd;

    if (outer == NULL)
        SKIP("no cgroup may be made here");
    snprintf(base, sizeof(base), "/kiln-test-%ld", (long)getpid());
    snprintf(inner, sizeof(inner), "%s/unit", base);
    unit = test_cgroups_make(outer, "unit");
    keeper = fork();
    if (keeper == 0)
        for (;;)
            pause();
    ck_assert_int_eq(cgroup_add(unit, keeper, NULL), 0);

    ck_assert_msg(cgroot_open(&settings, &root, &err) == 0, "%s", err.text);

    snprintf(home, sizeof(home), "/proc/%ld/cgroup", (long)keeper);
    fd = open(home, O_RDONLY);
    ck_assert_int_gt(read(fd, seen, sizeof(seen) - 1), 0);
    close(fd);
    if (cgroot_ability(outer)->mode == CGROOT_V2)
        ck_assert_ptr_nonnull(strstr(seen, "/unit/keeper\n"));
    ck_assert_int_eq(cgroot_ability(root)->memory, cgroot_ability(outer)->memory);
    test_cgroups_empty(test_cgroups_make(root, "p"));
    kill(keeper, SIGKILL);
    waitpid(keeper, NULL, 0);
    test_cgroups_pause(50);
    test_cgroups_close(root);
    cgroup_free(unit);
    test_cgroups_close(outer);
}
END_TEST

SUITE("cgroot", cgroups_are_listed_and_found_again, a_name_is_used_once,
      names_that_would_leave_the_base_are_refused, a_base_that_is_no_path_is_refused,
      a_machine_without_cgroups_says_so, a_nested_base_is_made_all_the_way_down,
      a_process_that_keeps_a_delegated_base_alive_makes_room)
