/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/allocation.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/topology.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(overlaps_are_found_in_used_and_withheld_cpus)
{
    static const struct {
        const char *cpus, *withheld, *other_cpus, *other_withheld;
        const char *words; /* NULL: disjoint */
    } cases[] = {
        {"0-3", NULL, "4-7", NULL, NULL},
        {NULL, NULL, "0-7", NULL, NULL},
        {"0-3", NULL, "3-5", NULL, "both have the CPUs 3"},
        {"0", "64", "64", NULL, "both have the CPUs 64"},
        {"0", "64", "1", "64-65", "both have the CPUs 64"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct allocation a = {.cpus = cases[i].cpus,
                               .withheld = cases[i].withheld};
        struct allocation b = {.cpus = cases[i].other_cpus,
                               .withheld = cases[i].other_withheld};
        struct error err = {0};
        int r = allocation_check_disjoint(&a, &b, &err);

        if (cases[i].words == NULL) {
            ck_assert_int_eq(r, 0);
        } else {
            ck_assert_int_eq(r, -EEXIST);
            ck_assert_str_eq(err.text, cases[i].words);
        }
    }
}
END_TEST

START_TEST(a_device_belongs_to_one)
{
    const char *mine[] = {"gpu0", "gpu1"}, *theirs[] = {"gpu1"};
    struct allocation a = {.devices = {mine, 2}};
    struct allocation b = {.devices = {theirs, 1}};
    struct error err = {0};

    ck_assert_int_eq(allocation_check_disjoint(&a, &b, &err), -EEXIST);
    ck_assert_str_eq(err.text, "both have the device 'gpu1'");
    a.devices.count = 1;
    ck_assert_int_eq(allocation_check_disjoint(&a, &b, &err), 0);
}
END_TEST

START_TEST(what_a_node_does_not_have_is_named)
{
    static struct topology_numa numa[] = {{.os_index = 0}, {.os_index = 2}};
    static char gpu0[] = "gpu0";
    static struct topology_device gpu = {.name = gpu0};
    const struct topology node = {
        .pus = {{0x0f}},
        .numa = numa,
        .n_numa = 2,
        .devices = &gpu,
        .n_devices = 1,
    };
    const char *devices[] = {"gpu0", "gpu1"};
    struct allocation a = {
        .cpus = "0-3",
        .memory_nodes = "0,2",
        .devices = {devices, 1},
    };
    CLEANUP_STRBUF struct strbuf missing = STRBUF_INIT;

    ck_assert(allocation_is_within(&a, &node, &missing));
    ck_assert_uint_eq(missing.length, 0);

    a = (struct allocation){
        .cpus = "2-5",
        .memory_nodes = "1-2",
        .devices = {devices, 2},
    };
    ck_assert(!allocation_is_within(&a, &node, &missing));
    ck_assert_str_eq(missing.text, "CPUs 4-5, NUMA nodes 1, device gpu1");
}
END_TEST

START_TEST(a_list_that_cannot_be_read_is_an_error)
{
    struct allocation a = {.cpus = "0-x"}, b = {.cpus = "1"};
    struct error err = {0};

    ck_assert_int_eq(allocation_check_disjoint(&a, &b, &err), -EINVAL);
    ck_assert_int_eq(allocation_check_disjoint(&b, &a, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "reading an allocation"));
}
END_TEST

SUITE("allocation",
      overlaps_are_found_in_used_and_withheld_cpus,
      a_device_belongs_to_one,
      what_a_node_does_not_have_is_named,
      a_list_that_cannot_be_read_is_an_error)
