/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes without CPUs: they provide memory, never cores. */
#include "lib/allocator/allocator.h"

#include <string.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/occupancy.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)

/* Two packages of four cores and 8 GiB, each with 4 GiB of HBM, which is nearer
 * to the package's cores than the other package is.
 */
static struct topology_index *
hbm_machine(void)
{
    return machine_of("{\"cpus\":\"0-7\",\"packages\":[\"0-3\",\"4-7\"],\"numaNodes\":["
                      "{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"8Gi\","
                      "\"distances\":[10,21,13,23]},"
                      "{\"node\":1,\"cpus\":\"4-7\",\"memory\":\"8Gi\","
                      "\"distances\":[21,10,23,13]},"
                      "{\"node\":2,\"kind\":\"HBM\",\"package\":0,\"memory\":\"4Gi\","
                      "\"distances\":[13,23,10,23]},"
                      "{\"node\":3,\"kind\":\"HBM\",\"package\":1,\"memory\":\"4Gi\","
                      "\"distances\":[23,13,23,10]}]}");
}

static struct demand
wanting(unsigned cores, int64_t gib, enum numa_policy policy)
{
    return (struct demand){
        .is_exclusive = cores > 0,
        .pus = cores,
        .shared_milli = cores > 0 ? 0 : 100,
        .memory_bytes = gib * GIB,
        .numa_policy = policy,
    };
}

START_TEST(memory_is_taken_beside_the_cores_then_of_the_nearest_node_without)
{
    static const struct {
        unsigned cores;
        int64_t gib;
        enum numa_policy policy;
        enum allocator_answer answer;
        int64_t memory[4];
        uint64_t nodes;
    } rows[] = {
        {2, 2, NUMA_SINGLE, ALLOCATOR_FITS, {2}, 0x1},
        {2, 10, NUMA_BEST_EFFORT, ALLOCATOR_FITS, {8, 0, 2}, 0x5},
        {2, 10, NUMA_RESTRICTED, ALLOCATOR_FITS, {8, 0, 2}, 0x5},
        {2, 10, NUMA_NONE, ALLOCATOR_FITS, {8, 0, 2}, 0x5},
        /* One NUMA node has the cores or enough memory, not both. */
        {2, 10, NUMA_SINGLE, ALLOCATOR_TOO_SMALL, {0}, 0},
        /* Both packages, which have cores, come before a node without cores. */
        {6, 16, NUMA_RESTRICTED, ALLOCATOR_FITS, {8, 8}, 0x3},
        {8, 24, NUMA_BEST_EFFORT, ALLOCATOR_FITS, {8, 8, 4, 4}, 0xf},
        {8, 25, NUMA_NONE, ALLOCATOR_TOO_SMALL, {0}, 0},
        /* A pod in the shared pool may have memory anywhere, plain memory
         * first.
         */
        {0, 4, NUMA_SINGLE, ALLOCATOR_FITS, {4}, 0x1},
    };
    struct topology_index *s = hbm_machine();
    struct occupancy *o = occupancy_new(s);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct demand d = wanting(rows[i].cores, rows[i].gib, rows[i].policy);
        struct grant g;

        ck_assert_msg(allocator_grant(o, &d, &g) == rows[i].answer, "row %zu", i);
        if (rows[i].answer != ALLOCATOR_FITS)
            continue;
        ck_assert_msg(g.memory_nodes == rows[i].nodes, "row %zu", i);
        for (unsigned n = 0; n < 4; n++)
            ck_assert_msg(g.memory[n] == rows[i].memory[n] * GIB, "row %zu, node %u", i, n);
        ck_assert_uint_eq(bitset_count(&g.cpus), rows[i].cores);
    }
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(cores_in_turn_pass_by_nodes_without_any)
{
    struct topology_index *s = hbm_machine();
    struct occupancy *o = occupancy_new(s);
    struct demand d = wanting(4, 0, NUMA_NONE);
    struct grant g;

    d.distribution = DISTRIBUTION_SCATTER;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_uint_eq(bitset_count(&g.cpus), 4);
    ck_assert_uint_eq(g.memory_nodes, 0x3);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(all_of_the_node_is_all_of_its_memory_too)
{
    struct topology_index *s = hbm_machine();
    struct occupancy *o = occupancy_new(s);
    struct demand d = wanting(8, 20, NUMA_NONE);
    struct grant g;

    d.is_whole_node = true;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_uint_eq(bitset_count(&g.cpus), 8);
    ck_assert_int_eq(g.memory[0] + g.memory[1] + g.memory[2] + g.memory[3], 20 * GIB);
    ck_assert_uint_eq(g.memory_nodes & 0x3, 0x3);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

SUITE("memory_only", memory_is_taken_beside_the_cores_then_of_the_nearest_node_without,
      cores_in_turn_pass_by_nodes_without_any, all_of_the_node_is_all_of_its_memory_too)
