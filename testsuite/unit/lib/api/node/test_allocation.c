/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/allocation.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/node/topology.h"
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
        struct allocation a = {.cpus = cases[i].cpus, .withheld = cases[i].withheld};
        struct allocation b = {.cpus = cases[i].other_cpus, .withheld = cases[i].other_withheld};
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

START_TEST(a_resource_that_the_node_lacks_is_named)
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

static int64_t
given_in_all(int64_t node, int64_t page_bytes, void *context)
{
    (void)node;
    return page_bytes == ALLOCATION_PLAIN ? *(const int64_t *)context : 0;
}

START_TEST(memory_that_is_not_there_any_more_is_named)
{
    const uint64_t gib = UINT64_C(1) << 30;
    struct topology_numa numa[] = {
        {.os_index = 0, .memory_bytes = 8 * gib},
        {.os_index = 2,
         .memory_bytes = 4 * gib,
         .hugepages = {{.page_bytes = 2 << 20, .count = 512}},
         .n_hugepages = 1},
    };
    const struct topology node = {.numa = numa, .n_numa = 2};
    struct allocation_memory memory[] = {
        {.node = 0, .bytes = "8Gi"},
        {.node = 2, .bytes = "3Gi"},
        {.node = 2, .bytes = "1Gi", .page_size = "2Mi"},
        {.node = 7, .bytes = "1Gi"},
    };
    const struct allocation a = {.memory = {memory, 4}};
    int64_t all = (int64_t)(8 * gib);
    CLEANUP_STRBUF struct strbuf missing = STRBUF_INIT;

    ck_assert_int_eq(allocation_memory_of(&a, 2, ALLOCATION_PLAIN), (int64_t)(3 * gib));
    ck_assert_int_eq(allocation_memory_of(&a, 2, 2 << 20), (int64_t)gib);
    ck_assert_int_eq(allocation_memory_of(&a, 1, ALLOCATION_PLAIN), 0);
    ck_assert(allocation_is_backed(&a, &node, NULL, NULL, &missing));
    ck_assert_uint_eq(missing.length, 0);

    numa[0].memory_bytes = 7 * gib;
    numa[1].hugepages[0].count = 256;
    ck_assert(!allocation_is_backed(&a, &node, NULL, NULL, &missing));
    ck_assert_str_eq(missing.text, "memory of NUMA node 0 (8Gi given, 7Gi there), huge "
                                   "pages of 2Mi of NUMA node 2 (1Gi given, 512Mi there)");

    /* The memory suffices for this pod, but not for all pods together. */
    strbuf_truncate(&missing, 0);
    numa[0].memory_bytes = 8 * gib;
    ck_assert(!allocation_is_backed(&a, &node, given_in_all, &all, &missing));
    ck_assert_str_eq(missing.text, "memory of NUMA node 2 (8Gi given, 4Gi there)");
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

SUITE("allocation", overlaps_are_found_in_used_and_withheld_cpus, a_device_belongs_to_one,
      a_resource_that_the_node_lacks_is_named, memory_that_is_not_there_any_more_is_named,
      a_list_that_cannot_be_read_is_an_error)
