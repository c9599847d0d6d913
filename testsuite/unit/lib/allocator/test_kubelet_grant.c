/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet_grant.h"

#include <check.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/value/cpuset.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)

static const struct kubelet_rules plain;

static struct demand
cores(unsigned pus, enum numa_policy policy)
{
    return (struct demand){
        .rules = &plain,
        .is_exclusive = true,
        .pus = pus,
        .numa_policy = policy,
    };
}

static void
take(struct occupancy *o, const struct grant *g)
{
    struct holding *h = grant_holding(g, o->topology_index);

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

START_TEST(a_core_of_which_one_thread_is_taken_is_nobody_elses)
{
    struct topology_index *s = machine(1, 4, 2, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(3, NUMA_NONE);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-1,4");
    assert_list(&g.withheld, "5");
    take(o, &g);
    d.pus = 1;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "2");
    assert_list(&g.withheld, "6");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(the_options_of_the_cpu_manager_apply)
{
    struct kubelet_rules whole = {.options = {.full_pcpus_only = true}};
    struct kubelet_rules shared = {.options = {.distribute_across_numa = true}};
    struct topology_index *s = machine(2, 4, 2, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(3, NUMA_NONE);
    struct grant g;

    d.rules = &whole;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NO_CORES);
    d.pus = 4;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-1,8-9");
    d.rules = &shared;
    d.pus = 12;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-2,4-6,8-10,12-14");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

/* The four GPUs are on four NUMA nodes, two cores on one: resource by resource
 * that is not aligned, although Kiln's own rules allow it.
 */
START_TEST(resources_must_agree_resource_by_resource)
{
    struct topology_index *s = machine(4, 4, 1, 8, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(2, NUMA_RESTRICTED);
    struct grant g;

    demand_add_resource(&d, "kiln.hpc/gpu", 4);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NOT_ALIGNED);
    d.rules = NULL;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_pod_that_asks_for_no_memory_is_not_aligned_by_it)
{
    struct topology_index *s = machine(4, 4, 1, 8, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(6, NUMA_RESTRICTED);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-5");
    ck_assert_uint_eq(g.memory_nodes, 0x3);
    d.memory_bytes = 4 * GIB; /* one NUMA node has enough */
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NOT_ALIGNED);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_numa_node_that_is_used_alone_joins_no_group)
{
    struct topology_index *s = machine(2, 4, 1, 8, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand small = cores(1, NUMA_NONE), large = cores(2, NUMA_NONE);
    struct grant g;

    small.memory_bytes = GIB;
    large.memory_bytes = 10 * GIB;
    small.numa_policy = large.numa_policy = NUMA_BEST_EFFORT;
    ck_assert_int_eq(allocator_grant(o, &small, &g), ALLOCATOR_FITS);
    take(o, &g);
    ck_assert_int_eq(allocator_grant(o, &large, &g), ALLOCATOR_NO_MEMORY);
    large.rules = NULL;
    ck_assert_int_eq(allocator_grant(o, &large, &g), ALLOCATOR_FITS);
    ck_assert_int_eq(g.memory[0] + g.memory[1], 10 * GIB);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_request_outside_the_kubelets_rules_is_decided_by_ours)
{
    struct topology_index *s = machine(2, 4, 2, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = cores(2, NUMA_NONE);
    struct grant g;

    d.threads_per_core = 1;
    ck_assert(!kubelet_grant_knows(&d));
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    assert_list(&g.cpus, "0-1");
    assert_list(&g.withheld, "8-9");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

SUITE("kubelet_grant", a_core_of_which_one_thread_is_taken_is_nobody_elses,
      the_options_of_the_cpu_manager_apply, resources_must_agree_resource_by_resource,
      a_pod_that_asks_for_no_memory_is_not_aligned_by_it,
      a_numa_node_that_is_used_alone_joins_no_group,
      a_request_outside_the_kubelets_rules_is_decided_by_ours)
