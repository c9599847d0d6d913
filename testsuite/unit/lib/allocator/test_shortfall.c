/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/shortfall.h"

#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

static struct topology_index *topology_index;
static struct occupancy *occupancy;

/* Four NUMA nodes, each with eight cores of two threads, 16 GiB and a GPU. */
static void
begin(void)
{
    topology_index = machine(4, 8, 2, 16, 8);
    occupancy = occupancy_new(topology_index);
}

static void
end(void)
{
    occupancy_free(occupancy);
    topology_index_unref(topology_index);
}

/* Allocates that many cores of that NUMA node, and its memory. */
static void
given(unsigned numa, unsigned cores, int64_t bytes)
{
    struct holding *h = holding_new(cores, 0, 1);

    for (unsigned i = 0; i < cores; i++)
        h->cores[i] = (uint16_t)(numa * 8 + i);
    h->memory[0] = (struct holding_memory){
        .numa = (uint16_t)numa,
        .page = HOLDING_PLAIN,
        .bytes = bytes,
    };
    occupancy_take(occupancy, h);
    holding_free(h);
}

static struct demand
cpus(unsigned pus, enum numa_policy policy)
{
    return (struct demand){
        .is_exclusive = true,
        .pus = pus,
        .numa_policy = policy,
    };
}

static void
is_said(const struct demand *d, const char *wanted)
{
    CLEANUP_STRBUF struct strbuf said = STRBUF_INIT;
    struct allocator_choice choice;

    shortfall_format(occupancy, d, allocator_choose(occupancy, d, &choice), &said);
    ck_assert_str_eq(said.length > 0 ? said.text : "", wanted);
}

START_TEST(a_need_is_told_whole)
{
    struct demand d = cpus(24, NUMA_SINGLE);
    CLEANUP_STRBUF struct strbuf said = STRBUF_INIT;

    d.memory_bytes = 48 * GIB;
    d.threads_per_core = 1;
    d.cores_per_package = 12;
    d.gpu_model = "a100";
    demand_add_resource(&d, "kiln.hpc/gpu", 2);
    demand_add_resource(&d, "hugepages-2Mi", GIB / 2);
    shortfall_format_need(&d, &said);

    ck_assert_str_eq(said.text, "24 CPUs on whole cores, 1 of each, at most 12 cores of "
                                "each socket in one NUMA node, 48Gi of memory, 512Mi of "
                                "huge pages of 2Mi, 2 gpu (a100)");
}
END_TEST

START_TEST(cores_that_are_scattered_are_counted_where_there_are_most)
{
    struct demand d = cpus(16, NUMA_SINGLE);

    begin();
    for (unsigned i = 0; i < 4; i++)
        given(i, 1 + i, 0);

    is_said(&d, "has 44 CPUs free, at most 14 in one NUMA node");
    d.threads_per_core = 1;
    d.pus = 8;
    is_said(&d, "has 22 CPUs free, at most 7 in one NUMA node, 1 of each core");
    d = cpus(32, NUMA_RESTRICTED);
    is_said(&d, "has 44 CPUs free, at most 26 in 2 NUMA nodes");
    d = cpus(64, NUMA_NONE);
    is_said(&d, "has 44 CPUs free");
    d = cpus(14, NUMA_SINGLE);
    is_said(&d, "");
    end();
}
END_TEST

START_TEST(a_demand_beyond_the_empty_node_is_reported_against_it)
{
    struct demand d = cpus(24, NUMA_SINGLE);

    begin();
    given(0, 8, 0);

    is_said(&d, "has 64 CPUs, at most 16 in one NUMA node, of the 24 needed");
    d = cpus(4, NUMA_NONE);
    d.memory_bytes = 65 * GIB;
    is_said(&d, "has 64 CPUs; 64Gi of memory");
    end();
}
END_TEST

START_TEST(memory_devices_and_huge_pages_are_told_when_they_are_short)
{
    struct demand d = cpus(4, NUMA_SINGLE);

    begin();
    given(0, 0, 10 * GIB);
    given(1, 0, 6 * GIB + 512 * MIB);
    given(2, 0, 12 * GIB);
    given(3, 0, 12 * GIB);

    d.memory_bytes = 10 * GIB;
    is_said(&d, "has 64 CPUs free, at most 16 in one NUMA node; 23.5Gi of memory "
                "free, at most 9728Mi in one NUMA node");
    d = cpus(4, NUMA_SINGLE);
    demand_add_resource(&d, "kiln.hpc/gpu", 2);
    demand_add_resource(&d, "hugepages-2Mi", 300 * MIB);
    is_said(&d, "has 64 CPUs, at most 16 in one NUMA node; 1Gi of huge pages of "
                "2Mi, at most 256Mi in one NUMA node; 4 gpu, at most 1 in one "
                "NUMA node");
    end();
}
END_TEST

START_TEST(enough_of_each_but_nowhere_together_is_said)
{
    struct demand d = cpus(16, NUMA_SINGLE);

    begin();
    given(0, 0, 16 * GIB);
    given(1, 8, 0);
    given(2, 8, 0);
    given(3, 8, 0);

    d.memory_bytes = 16 * GIB;
    is_said(&d, "has 16 CPUs free, but no NUMA node has all that it needs");
    end();
}
END_TEST

START_TEST(cores_of_each_socket_are_counted)
{
    struct demand d = cpus(10, NUMA_NONE);

    begin();
    given(0, 8, 0);
    d.cores_per_package = 4;

    is_said(&d, "has 64 CPUs, 8 with so many cores of each socket, of the 10 "
                "needed");
    end();
}
END_TEST

START_TEST(a_node_that_is_wanted_whole_says_how_full_it_is)
{
    struct demand d = {.is_exclusive = true, .is_whole_node = true};

    begin();
    given(1, 3, 0);

    is_said(&d, "is not empty: 29 of its 32 cores are free");
    end();
}
END_TEST

START_TEST(a_shortfall_names_what_others_share)
{
    struct demand shared = {.shared_milli = 2500};
    struct demand all = cpus(64, NUMA_NONE);
    struct holding *h = holding_new(0, 0, 0);

    begin();
    h->is_shared = true;
    h->shared_milli = 62000;
    occupancy_take(occupancy, h);

    is_said(&shared, "has 2 CPUs left for all to share");
    is_said(&all, "has 64 CPUs free, some of which pods that share CPUs need");
    holding_free(h);
    end();
}
END_TEST

SUITE("shortfall", a_need_is_told_whole, cores_that_are_scattered_are_counted_where_there_are_most,
      a_demand_beyond_the_empty_node_is_reported_against_it,
      memory_devices_and_huge_pages_are_told_when_they_are_short,
      enough_of_each_but_nowhere_together_is_said, cores_of_each_socket_are_counted,
      a_node_that_is_wanted_whole_says_how_full_it_is, a_shortfall_names_what_others_share)
