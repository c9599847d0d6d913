/* SPDX-License-Identifier: Apache-2.0 */
/* The exact grant of a pod: devices, huge pages, cores per package. */
#include <check.h>
#include <errno.h>

#include "lib/allocator/allocator.h"
#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/node/allocation.h"
#include "lib/api/value/cpuset.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* Two packages of two NUMA nodes with four cores each, 512 pages of 2 MiB on
 * each of the NUMA nodes 0 and 1, GPUs of two models.
 */
static struct topology_index *
gpu_box(void)
{
    return machine_of("{\"cpus\":\"0-15\",\"packages\":[\"0-7\",\"8-15\"],\"numaNodes\":["
                      "{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"8Gi\","
                      "\"hugepages\":{\"2Mi\":\"512\"},\"distances\":[10,12,32,32]},"
                      "{\"node\":1,\"cpus\":\"4-7\",\"memory\":\"8Gi\","
                      "\"hugepages\":{\"2Mi\":\"512\"},\"distances\":[12,10,32,32]},"
                      "{\"node\":2,\"cpus\":\"8-11\",\"memory\":\"8Gi\","
                      "\"distances\":[32,32,10,12]},"
                      "{\"node\":3,\"cpus\":\"12-15\",\"memory\":\"8Gi\","
                      "\"distances\":[32,32,12,10]}],\"devices\":["
                      "{\"name\":\"gpu0\",\"type\":\"gpu\",\"node\":0,"
                      "\"model\":\"NVIDIA A100-SXM4-80GB\"},"
                      "{\"name\":\"gpu1\",\"type\":\"gpu\",\"node\":1,"
                      "\"model\":\"NVIDIA A100-SXM4-80GB\"},"
                      "{\"name\":\"gpu2\",\"type\":\"gpu\",\"node\":2,"
                      "\"model\":\"NVIDIA V100-PCIE-16GB\"},"
                      "{\"name\":\"gpu3\",\"type\":\"gpu\",\"node\":3,"
                      "\"model\":\"NVIDIA V100-PCIE-16GB\"},"
                      "{\"name\":\"nic0\",\"type\":\"nic\"}]}");
}

static struct demand
cores(unsigned pus, enum numa_policy policy)
{
    return (struct demand){
        .is_exclusive = true,
        .pus = pus,
        .numa_policy = policy,
    };
}

static struct demand
with_gpus(unsigned pus, enum numa_policy policy, unsigned gpus, const char *model)
{
    struct demand d = cores(pus, policy);

    d.gpu_model = model;
    demand_add_resource(&d, "kiln.hpc/gpu", gpus);
    return d;
}

static void
take(struct occupancy *o, struct demand d)
{
    struct grant g;
    struct holding *h;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    h = grant_holding(&g, o->topology_index);
    occupancy_take(o, h);
    holding_free(h);
}

/* Takes all cores of one NUMA node. */
static void
fill(struct occupancy *o, unsigned numa)
{
    struct holding *h = holding_new(o->topology_index->numa[numa].n_cores, 0, 0);
    unsigned n = 0;

    for (unsigned core = 0; core < o->topology_index->n_cores; core++)
        if (o->topology_index->cores[core].numa == numa)
            h->cores[n++] = (uint16_t)core;
    occupancy_take(o, h);
    holding_free(h);
}

static void
assert_list(const struct bitset *set, const char *list)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    cpuset_format(set, &s);
    ck_assert_str_eq(s.text, list);
}

START_TEST(gpus_are_of_the_model_that_is_asked_for)
{
    static const struct {
        const char *model;
        unsigned gpus;
        enum allocator_answer answer;
        const char *cpus;
    } rows[] = {
        {NULL, 1, ALLOCATOR_FITS, "0"},
        {"a100", 1, ALLOCATOR_FITS, "0"},
        {"v100", 1, ALLOCATOR_FITS, "8"},
        {"NVIDIA V100-PCIE-16GB", 1, ALLOCATOR_FITS, "8"},
        {"v100 16gb", 1, ALLOCATOR_FITS, "8"},
        {"v10", 1, ALLOCATOR_NO_SUCH_DEVICES, NULL},
        {"h100", 1, ALLOCATOR_NO_SUCH_DEVICES, NULL},
        {"a100", 3, ALLOCATOR_NO_SUCH_DEVICES, NULL},
        {NULL, 3, ALLOCATOR_FITS, "0"},
    };
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct demand d = with_gpus(1, NUMA_BEST_EFFORT, rows[i].gpus, rows[i].model);
        struct grant g;

        ck_assert_int_eq(allocator_grant(o, &d, &g), rows[i].answer);
        if (rows[i].cpus == NULL)
            continue;
        assert_list(&g.cpus, rows[i].cpus);
        ck_assert_uint_eq(bitset_count(&g.devices), rows[i].gpus);
    }
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(cores_go_beside_the_gpu_unless_it_may_be_anywhere)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = with_gpus(1, NUMA_BEST_EFFORT, 1, "v100");
    struct grant g;

    take(o, cores(2, NUMA_SINGLE));
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "8");
    d.has_far_devices = true;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "2");
    assert_list(&g.devices, "2");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

/* The last NUMA node has a GPU and no core. */
START_TEST(gpus_of_all_numa_nodes_while_cores_are_free_on_three)
{
    static const enum allocator_answer answers[] = {
        [NUMA_NONE] = ALLOCATOR_FITS,
        [NUMA_BEST_EFFORT] = ALLOCATOR_FITS,
        [NUMA_RESTRICTED] = ALLOCATOR_FITS,
        [NUMA_SINGLE] = ALLOCATOR_TOO_SMALL,
    };
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);

    fill(o, 3);
    for (unsigned policy = 0; policy < ARRAY_SIZE(answers); policy++) {
        struct demand d = with_gpus(12, (enum numa_policy)policy, 4, NULL);
        struct grant g;

        ck_assert_int_eq(allocator_grant(o, &d, &g), answers[policy]);
        if (answers[policy] != ALLOCATOR_FITS)
            continue;
        assert_list(&g.cpus, "0-11");
        assert_list(&g.devices, "0-3");
    }
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_gpu_that_is_taken_draws_no_cores)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = with_gpus(4, NUMA_SINGLE, 1, "a100");
    struct grant g;

    take(o, with_gpus(1, NUMA_SINGLE, 1, "a100"));
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "4-7");
    take(o, d);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NO_DEVICES);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(no_more_cores_of_a_package_than_asked_for)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(6, NUMA_BEST_EFFORT);
    struct grant g;

    d.cores_per_package = 3;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-2,8-10");
    d.distribution = DISTRIBUTION_SCATTER;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-1,4,8-9,12");
    d.pus = 7;
    ck_assert_int_ne(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    d.distribution = DISTRIBUTION_PACK;
    ck_assert_int_ne(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(huge_pages_come_from_the_numa_nodes_of_the_cores)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(2, NUMA_SINGLE);
    struct grant g;

    demand_add_resource(&d, "hugepages-2Mi", 600 * MIB);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_int_eq(g.huge[0][0], 600 * MIB);
    take(o, d);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "4-5");
    ck_assert_int_eq(g.huge[0][1], 600 * MIB);
    take(o, d);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NOT_ALIGNED);
    d.numa_policy = NUMA_BEST_EFFORT;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_int_eq(g.huge[0][0] + g.huge[0][1], 600 * MIB);
    take(o, d);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NO_HUGEPAGES);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_page_size_that_a_machine_does_not_have_is_not_there)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(1, NUMA_NONE);
    struct grant g;

    demand_add_resource(&d, "hugepages-1Gi", GIB);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_TOO_SMALL);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(huge_pages_are_written_and_read_back)
{
    struct topology_index *s = gpu_box();
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(1, NUMA_SINGLE);
    struct allocation_memory memory[] = {
        {.node = 1, .bytes = "1Gi"},
        {.node = 1, .bytes = "600Mi", .page_size = "2Mi"},
        {.node = 1, .bytes = "1Gi", .page_size = "1Gi"},
    };
    struct allocation a = {.memory = {.items = memory, .count = 3}};
    struct holding *h = NULL;

    ck_assert_int_eq(holding_of_allocation(s, &a, &h, NULL), -ENXIO);
    occupancy_take(o, h);
    ck_assert_int_eq(o->numa[1].free_memory, 7 * GIB);
    ck_assert_int_eq(o->numa[1].free_huge[0], 424 * MIB);
    demand_add_resource(&d, "hugepages-2Mi", 500 * MIB);
    take(o, d);
    ck_assert_int_eq(o->numa[0].free_huge[0], 524 * MIB);
    occupancy_release(o, h);
    ck_assert_int_eq(o->numa[1].free_huge[0], 1024 * MIB);
    holding_free(h);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

static void
take_cores(struct occupancy *o, unsigned first, unsigned count)
{
    CLEANUP(holding_freep) struct holding *h = holding_new(count, 0, 0);

    for (unsigned i = 0; i < count; i++)
        h->cores[i] = (uint16_t)(first + i);
    occupancy_take(o, h);
}

/* On NUMA node 0 two cores of each L3 cache are free, on NUMA node 1 all of one
 * cache and half of the other.
 */
START_TEST(a_job_that_fits_in_one_l3_cache_is_not_split)
{
    struct topology_index *s = machine(2, 8, 1, 8, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(4, NUMA_SINGLE);
    struct grant g;

    take_cores(o, 0, 2);
    take_cores(o, 4, 2);
    take_cores(o, 8, 2);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    for (unsigned i = 12; i < 16; i++)
        ck_assert(bitset_has(&g.cpus, i));
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

static void
check_cpus(const struct occupancy *o, unsigned pus, const char *expected)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct demand d = cores(pus, NUMA_NONE);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    cpuset_format(&g.cpus, &text);
    ck_assert_str_eq(text.text, expected);
}

/* CPUs 0 to 3 are the threads of two performance cores. */
START_TEST(a_job_has_cores_of_one_kind_where_one_has_enough)
{
    struct topology_index *s =
        machine_of("{\"cpus\":\"0-9\",\"packages\":[\"0-9\"],\"cores\":[\"0-1\",\"2-3\","
                   "\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"],\"kinds\":[{\"cpus\":\"0-3\","
                   "\"kind\":1}],\"numaNodes\":[{\"node\":0,\"cpus\":\"0-9\","
                   "\"memory\":\"8Gi\"}]}");
    struct occupancy *o = occupancy_new(s);

    check_cpus(o, 2, "0-1");
    check_cpus(o, 4, "0-3");
    check_cpus(o, 5, "4-8");
    check_cpus(o, 7, "0-6");
    take_cores(o, 0, 1);
    check_cpus(o, 2, "2-3");
    check_cpus(o, 3, "4-6");
    check_cpus(o, 8, "2-9");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

SUITE("grant", gpus_are_of_the_model_that_is_asked_for,
      cores_go_beside_the_gpu_unless_it_may_be_anywhere,
      gpus_of_all_numa_nodes_while_cores_are_free_on_three, a_gpu_that_is_taken_draws_no_cores,
      no_more_cores_of_a_package_than_asked_for, huge_pages_come_from_the_numa_nodes_of_the_cores,
      a_page_size_that_a_machine_does_not_have_is_not_there, huge_pages_are_written_and_read_back,
      a_job_that_fits_in_one_l3_cache_is_not_split,
      a_job_has_cores_of_one_kind_where_one_has_enough)
