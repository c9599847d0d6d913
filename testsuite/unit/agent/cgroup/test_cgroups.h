/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroups.h - a cgroup root for a test, where the machine permits it
 *
 * Without root or without cgroups test_cgroups_open returns NULL and prints
 * why: then the test checks nothing and passes.
 */
#pragma once

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "lib/base/error.h"
#include "testsuite/lib/cgroups.h"

static inline struct cgroot *
test_cgroups_open(void)
{
    char base[64];
    struct cgroot_settings settings = {.base = base};
    struct cgroot *root = NULL;
    struct error err = {0};

    snprintf(base, sizeof(base), "/kiln-test-%ld", (long)getpid());
    if (geteuid() != 0) {
        printf("# not shown: only root makes cgroups\n");
        return NULL;
    }
    if (cgroot_open(&settings, &root, &err) < 0)
        printf("# not shown: %s\n", err.text);
    return root;
}

static inline void
test_cgroups_pause(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static inline void
test_cgroups_close(struct cgroot *root)
{
    struct error err = {0};

    ck_assert_msg(cgroups_remove_base(root, &err) == 0, "%s", err.text);
    cgroot_close(root);
}

static inline struct cgroup *
test_cgroups_make(struct cgroot *root, const char *name)
{
    struct cgroup *c = NULL;
    struct error err = {0};

    ck_assert_msg(cgroot_make(root, name, &c, &err) == 0, "%s", err.text);
    return c;
}

/* Kills the remaining processes, waits for their end and removes the
 * directories.
 */
static inline void
test_cgroups_empty(struct cgroup *c)
{
    struct error err = {0};
    int tries = 0;

    while (cgroup_is_empty(c) == 0 && tries++ < 1000) {
        cgroup_kill(c, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        test_cgroups_pause(10);
    }
    while (cgroup_remove(c, &err) < 0 && tries++ < 1000)
        test_cgroups_pause(10);
    ck_assert_msg(tries < 1000, "%s", err.text);
    cgroup_free(c);
}
