/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/cgroup.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/cgroup/test_cgroups.h"

static const struct device_number full = {false, 1, 7}, zero = {false, 1, 5};

/* The errno of opening each device in the cgroup; 0: it opened. */
struct tried {
    int full, zero, null;
};

static int
try_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static struct tried
try_inside(struct cgroup *c)
{
    struct tried t = {-1, -1, -1};
    int doors[CGROUP_MAX_DIRS];
    struct error err = {0};
    int n = cgroup_open_join_files(c, true, doors, &err);
    int ends[2];
    pid_t pid;

    ck_assert_msg(n > 0, "%s", err.text);
    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < n; i++)
            if (write(doors[i], "0", 1) != 1)
                _exit(99);
        t.full = try_open("/dev/full");
        t.zero = try_open("/dev/zero");
        t.null = try_open("/dev/null");
        _exit(write(ends[1], &t, sizeof(t)) != sizeof(t));
    }
    while (n > 0)
        close(doors[--n]);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &t, sizeof(t)), sizeof(t));
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return t;
}

static void
show_denial(struct cgroup *c)
{
    const struct device_number denied[] = {zero, full};
    struct error err = {0};
    struct tried t = try_inside(c);

    ck_assert_int_eq(t.full, 0);
    ck_assert_msg(cgroup_deny_devices(c, denied, 1, &err) == 0, "%s", err.text);
    t = try_inside(c);
    ck_assert_int_eq(t.zero, EPERM);
    ck_assert_int_eq(t.full, 0);
    ck_assert_int_eq(t.null, 0);
}

START_TEST(a_device_that_is_denied_cannot_be_opened_and_others_can)
{
    struct cgroot *root = test_cgroups_open();
    struct cgroup *c;

    if (root == NULL)
        return;
    c = test_cgroups_make(root, "guarded");
    if (cgroot_ability(root)->devices)
        show_denial(c);
    else
        printf("# not shown: %s\n", cgroot_ability(root)->devices_lacking);
    test_cgroups_empty(c);
    test_cgroups_close(root);
}
END_TEST

/* The program is also tested on machines where v1 would deny the devices. */
START_TEST(a_program_denies_on_v2)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    const struct device_number denied[] = {zero, full};
    struct stat st;

    if (geteuid() != 0 || cgroup_try_device_program() < 0) {
        printf("# not shown: no BPF programs for devices here\n");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        CLEANUP_FREE char *procs = xasprintf("%s/cgroup.controllers", mounts[i]);
        CLEANUP(cgroup_freep) struct cgroup *c = cgroup_new("program");
        struct tried t;

        if (stat(procs, &st) < 0)
            continue;
        cgroup_add_directory(c, 2, 0, false,
                             xasprintf("%s/kiln-test-program-%ld", mounts[i], (long)getpid()));
        ck_assert_int_eq(cgroup_make(c, NULL), 0);
        ck_assert_int_eq(cgroup_deny_devices(c, denied, 2, NULL), 0);
        t = try_inside(c);
        ck_assert_int_eq(t.full, EPERM);
        ck_assert_int_eq(t.zero, EPERM);
        ck_assert_int_eq(t.null, 0);
        ck_assert_int_eq(cgroup_remove(c, NULL), 0);
        return;
    }
    printf("# not shown: no cgroup v2 is mounted\n");
}
END_TEST

SUITE("device_denial", a_device_that_is_denied_cannot_be_opened_and_others_can,
      a_program_denies_on_v2)
