/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/hierarchy.h"

#include <check.h>

#include "testsuite/lib/suite.h"

START_TEST(mounted_hierarchies_are_told_apart)
{
    static const char text[] =
        "25 1 0:23 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
        "26 25 0:24 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw\n"
        "27 25 0:25 / /sys/fs/cgroup/systemd rw shared:6 - cgroup cgroup "
        "rw,xattr,name=systemd\n"
        "28 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:7 - cgroup cgroup "
        "rw,cpu,cpuacct\n"
        "29 25 0:27 / /sys/fs/cgroup/net_cls rw - cgroup cgroup rw,net_cls\n"
        "30 25 0:28 / /sys/fs/my\\040cgroup rw - cgroup cgroup rw,memory\n"
        "31 25 0:28 / /again rw - cgroup cgroup rw,memory\n"
        "32 25 0:29 /part /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "nonsense\n"
        "33 25 0:30 / /x rw\n";
    static const struct {
        const char *mount;
        unsigned version, controllers;
        bool is_systemd;
    } wanted[] = {
        {"/sys/fs/cgroup/unified", 2, 0, false},
        {"/sys/fs/cgroup/systemd", 1, 0, true},
        {"/sys/fs/cgroup/cpu,cpuacct", 1, CONTROLLER_CPU | CONTROLLER_CPUACCT, false},
        {"/sys/fs/my cgroup", 1, CONTROLLER_MEMORY, false},
    };
    struct hierarchies all;

    hierarchies_parse(text, &all);

    ck_assert_uint_eq(all.count, ARRAY_SIZE(wanted));
    for (unsigned i = 0; i < all.count; i++) {
        ck_assert_str_eq(all.items[i].mount, wanted[i].mount);
        ck_assert_uint_eq(all.items[i].version, wanted[i].version);
        ck_assert(all.items[i].is_systemd == wanted[i].is_systemd);
        if (wanted[i].version == 1)
            ck_assert_uint_eq(all.items[i].controllers, wanted[i].controllers);
    }
    hierarchies_fini(&all);
}
END_TEST

START_TEST(controllers_are_known_by_their_whole_name)
{
    static const char text[] = "26 25 0:24 / /cpuset rw - cgroup cgroup rw,cpuset\n"
                               "27 25 0:25 / /cpu rw - cgroup cgroup rw,cpu\n"
                               "28 25 0:26 / /misc rw - cgroup cgroup rw,misc,cp,cpus\n"
                               "29 25 0:27 / /memory rw - cgroup cgroup rw,memory\n";
    static const struct {
        const char *name;
        unsigned controller;
    } wanted[] = {
        {"cpuset", CONTROLLER_CPUSET},
        {"cpu", CONTROLLER_CPU},
        {"memory", CONTROLLER_MEMORY},
    };
    struct hierarchies all;

    hierarchies_parse(text, &all);

    ck_assert_uint_eq(all.count, ARRAY_SIZE(wanted));
    for (unsigned i = 0; i < all.count; i++) {
        ck_assert_str_eq(all.items[i].mount + 1, wanted[i].name);
        ck_assert_uint_eq(all.items[i].controllers, wanted[i].controller);
        ck_assert_str_eq(controller_name(wanted[i].controller), wanted[i].name);
    }
    hierarchies_fini(&all);
}
END_TEST

SUITE("hierarchy", mounted_hierarchies_are_told_apart, controllers_are_known_by_their_whole_name)
