/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/hardware.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static struct topology *
discover(const struct hardware_request *request)
{
    struct topology *t = NULL;
    struct error err = {0};

    ck_assert_msg(hardware_discover(request, &t, &err) == 0, "%s", err.text);
    return t;
}

static struct topology *
discover_given(const char *given)
{
    return discover(&(struct hardware_request){.given = given});
}

static struct topology *
discover_data(const char *name, bool with_devices)
{
    const char *top = getenv("top_srcdir");
    CLEANUP_FREE char *path =
        xasprintf("%s/testsuite/data/topology/%s", top == NULL ? "." : top, name);

    return discover(&(struct hardware_request){
        .given = path,
        .with_devices = with_devices,
    });
}

static struct bitset
set_of(const char *list)
{
    struct bitset set;

    ck_assert_int_eq(cpuset_parse(list, &set, NULL), 0);
    return set;
}

static void
assert_pus(const struct bitset *set, const char *list)
{
    struct bitset wanted = set_of(list);

    ck_assert_msg(bitset_equals(set, &wanted), "the set is not %s", list);
}

/* Checks the invariants of hardware.h on any topology. */
static void
assert_sound(const struct topology *t)
{
    struct bitset seen = {0};

    bitset_foreach(pu, &t->pus)
    {
        const struct topology_pu *p = &t->pu[pu];

        ck_assert_uint_lt(pu, t->n_pu);
        ck_assert(bitset_has(&t->cores[p->core].pus, pu));
        ck_assert(bitset_has(&t->packages[p->package].pus, pu));
        ck_assert(bitset_has(&t->numa[p->numa].pus, pu));
        ck_assert(p->l3 == TOPOLOGY_NONE || bitset_has(&t->l3[p->l3].pus, pu));
    }
    for (unsigned i = 0; i < t->n_cores; i++) {
        ck_assert(!bitset_intersects(&seen, &t->cores[i].pus));
        ck_assert(!bitset_is_empty(&t->cores[i].pus));
        bitset_or(&seen, &t->cores[i].pus);
    }
    ck_assert(bitset_equals(&seen, &t->pus));
    ck_assert(!bitset_intersects(&t->pus, &t->reserved));
}

START_TEST(synthetic_machines_come_out_as_described)
{
    static const struct {
        const char *text;
        unsigned pus, cores, l3, numa, packages;
    } cases[] = {
        {"pu:4", 4, 4, 0, 1, 1},
        {"core:4 pu:1", 4, 4, 0, 1, 1},
        {"pack:2 core:4 pu:2", 16, 8, 0, 1, 2},
        {"pack:2 [numa] l3:2 core:4 pu:2", 32, 16, 4, 2, 2},
        {"pack:2 numa:4 core:2 pu:1", 16, 16, 0, 8, 2},
        {"[numa(memory=64GB)] core:8 pu:2", 16, 8, 0, 1, 1},
        {"pack:4 [numa] l3:4 core:32 pu:2", 1024, 512, 16, 4, 4},
        {"pack:1 numa:64 pu:1", 64, 64, 0, 64, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct topology *t = discover_given(cases[i].text);

        ck_assert(t->is_virtual);
        ck_assert_uint_eq(bitset_count(&t->pus), cases[i].pus);
        ck_assert_uint_eq(t->n_pu, cases[i].pus);
        ck_assert_uint_eq(t->n_cores, cases[i].cores);
        ck_assert_uint_eq(t->n_l3, cases[i].l3);
        ck_assert_uint_eq(t->n_numa, cases[i].numa);
        ck_assert_uint_eq(t->n_packages, cases[i].packages);
        assert_sound(t);
        topology_free(t);
    }
}
END_TEST

/* Each level of a description divides the one above it. */
START_TEST(every_pu_is_in_the_numa_node_that_its_level_says)
{
    static const struct {
        const char *text;
        unsigned numa, pus_of_each;
    } cases[] = {
        {"package:2 numa:2 l3:2 core:2 pu:2", 4, 8},
        {"pack:2 numa:4 core:2 pu:1", 8, 2},
        {"pack:1 numa:64 pu:1", 64, 1},
        {"pack:2 [numa] l3:2 core:4 pu:2", 2, 16},
        {"numa:2 pack:2 core:4 pu:1", 2, 8},
        {"pack:2 l3:2 numa:1 core:4 pu:2", 4, 8},
        {"pack:2 l3:2 [numa] core:4 pu:2", 4, 8},
        {"numa:4 core:4 pu:2", 4, 8},
        {"numa:3 pu:5", 3, 5},
        {"pack:2 group:2 [numa] core:4 pu:2", 4, 8},
        {"pack:2 numa:2 core:1 pu:1", 4, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct topology *t = discover_given(cases[i].text);

        ck_assert_uint_eq(t->n_numa, cases[i].numa);
        for (unsigned n = 0; n < t->n_numa; n++) {
            ck_assert_msg(bitset_count(&t->numa[n].pus) == cases[i].pus_of_each,
                          "'%s': NUMA node %u has %u PUs", cases[i].text, n,
                          bitset_count(&t->numa[n].pus));
            ck_assert_uint_eq(bitset_next(&t->numa[n].pus, 0), n * cases[i].pus_of_each);
        }
        assert_sound(t);
        topology_free(t);
    }
}
END_TEST

START_TEST(nonsense_is_refused_with_the_reason)
{
    static const struct {
        const char *given;
        int code;
        const char *says;
    } cases[] = {
        {"", -EINVAL, "synthetic"},
        {"hello", -EINVAL, "neither"},
        {"pu:-3", -EINVAL, "neither"},
        {"/nonexistent/x.xml", -ENOENT, "'/nonexistent/x.xml'"},
        {"nonexistent.xml", -ENOENT, "nonexistent.xml"},
        {"/dev/null", -EINVAL, "not an hwloc XML export"},
        {"/etc/passwd", -EINVAL, "not an hwloc XML export"},
        {"pu:1025", -E2BIG, "1024"},
        {"pack:1000000 core:1000000 pu:1000000", -E2BIG, "1024"},
        {"pu:99999999999999999999", -E2BIG, "1024"},
        {"numa:65 pu:1", -E2BIG, "65 NUMA nodes"},
        {"pack:2 core:2 pu:1(indexes=0,1,2,5000)", -E2BIG, "5000"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct hardware_request request = {.given = cases[i].given};
        struct topology *t = NULL;
        struct error err = {0};
        int r = hardware_discover(&request, &t, &err);

        ck_assert_msg(r == cases[i].code, "'%s' gave %d: %s", cases[i].given, r, err.text);
        ck_assert_ptr_null(t);
        ck_assert_msg(strstr(err.text, cases[i].says) != NULL, "'%s' does not say '%s'", err.text,
                      cases[i].says);
    }
}
END_TEST

START_TEST(reserved_cpus_are_in_no_group)
{
    struct hardware_request request = {
        .given = "pack:2 [numa(memory=8GB)] l3:1 core:2 pu:2",
        .reserved = set_of("0-1,4-5"),
        .reserved_memory_bytes = UINT64_C(1000000000),
    };
    struct topology *t = discover(&request);

    assert_pus(&t->pus, "2-3,6-7");
    assert_pus(&t->reserved, "0-1,4-5");
    assert_pus(&t->packages[0].pus, "2-3");
    assert_pus(&t->numa[1].pus, "6-7");
    ck_assert_uint_eq(t->n_cores, 2);
    ck_assert_uint_eq(t->numa[0].memory_bytes, UINT64_C(7500000000));
    assert_sound(t);
    topology_free(t);
}
END_TEST

START_TEST(a_core_is_reserved_with_all_its_threads)
{
    struct hardware_request request = {
        .given = "[numa(memory=8GB)] core:4 pu:2",
        .reserved = set_of("0,5"),
    };
    struct topology *t = discover(&request);

    assert_pus(&t->pus, "2-3,6-7");
    assert_pus(&t->reserved, "0-1,4-5");
    ck_assert_uint_eq(t->n_cores, 2);
    assert_sound(t);
    topology_free(t);
}
END_TEST

START_TEST(a_reservation_that_cannot_be_is_refused)
{
    static const struct {
        const char *reserved;
        uint64_t memory;
        const char *says;
    } cases[] = {
        {"0-3", 0, "no CPU is left"},
        {"2-9", 0, "CPUs 4-9"},
        {"0", UINT64_C(1) << 60, "bytes of memory are reserved"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct hardware_request request = {
            .given = "core:4 pu:1",
            .reserved = set_of(cases[i].reserved),
            .reserved_memory_bytes = cases[i].memory,
        };
        struct topology *t = NULL;
        struct error err = {0};

        ck_assert_int_lt(hardware_discover(&request, &t, &err), 0);
        ck_assert_msg(strstr(err.text, cases[i].says), "%s", err.text);
    }
}
END_TEST

START_TEST(distances_kinds_and_hugepages_are_read)
{
    struct topology *t = discover_data("two-sockets-devices.xml", false);

    ck_assert_uint_eq(t->n_numa, 2);
    ck_assert_ptr_nonnull(t->distances);
    ck_assert_uint_eq(t->distances[0], 10);
    ck_assert_uint_eq(t->distances[1], 21);
    ck_assert_uint_eq(t->pu[0].kind, 0);
    ck_assert_uint_eq(t->pu[15].kind, 1);
    ck_assert_uint_eq(t->numa[0].n_hugepages, 1);
    ck_assert_uint_eq(t->numa[0].hugepages[0].page_bytes, 2097152);
    ck_assert_uint_eq(t->numa[0].hugepages[0].count, 1024);
    ck_assert_uint_eq(t->numa[0].memory_bytes, UINT64_C(8000000000) - UINT64_C(2147483648));
    ck_assert_uint_eq(t->n_devices, 0);
    assert_sound(t);
    topology_free(t);
}
END_TEST

START_TEST(devices_are_found_when_asked_for)
{
    static const struct {
        const char *name, *type, *path;
        unsigned numa;
    } wanted[] = {
        {"gpu0", "gpu", "/dev/nvidia0", 0},
        {"gpu1", "gpu", "/dev/dri/renderD129", 1},
        {"nvme0n1", "nvme", "/dev/nvme0n1", 0},
        {"ib0", "nic", NULL, 1},
        {"mlx5_0", "rdma", NULL, 1},
    };
    struct topology *t = discover_data("two-sockets-devices.xml", true);

    ck_assert_uint_eq(t->n_devices, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        ck_assert_str_eq(t->devices[i].name, wanted[i].name);
        ck_assert_str_eq(t->devices[i].type, wanted[i].type);
        ck_assert_pstr_eq(t->devices[i].path, wanted[i].path);
        ck_assert_uint_eq(t->devices[i].numa, wanted[i].numa);
    }
    ck_assert_str_eq(t->devices[0].model, "Example accelerator 01");
    topology_free(t);
}
END_TEST

START_TEST(sub_numa_clusters_below_one_cache_are_told_apart)
{
    struct topology *t = discover_data("sub-numa-clusters.xml", false);

    ck_assert_uint_eq(t->n_numa, 4);
    ck_assert_uint_eq(t->n_l3, 2);
    assert_pus(&t->numa[0].pus, "0-3");
    assert_pus(&t->numa[1].pus, "4-7");
    assert_pus(&t->numa[2].pus, "8-11");
    assert_pus(&t->numa[3].pus, "12-15");
    ck_assert_uint_eq(t->numa[2].package, 1);
    ck_assert_uint_eq(t->distances[1], 12);
    ck_assert_uint_eq(t->distances[2], 21);
    assert_sound(t);
    topology_free(t);
}
END_TEST

START_TEST(dies_and_clusters_are_levels_where_no_other_is_the_same)
{
    struct topology *t = discover_given("pack:2 die:2 [numa] l3:1 group:2 l2:2 core:2 pu:1");

    ck_assert_uint_eq(t->n_dies, 4);
    assert_pus(&t->dies[3].pus, "24-31");
    ck_assert_uint_eq(t->n_clusters, 8);
    assert_pus(&t->clusters[1].pus, "4-7");
    ck_assert_uint_eq(t->n_l2, 16);
    ck_assert_uint_eq(t->pu[5].l2, 2);
    topology_free(t);

    t = discover_given("pack:2 die:1 [numa] l2:4 core:1 pu:2");
    ck_assert_uint_eq(t->n_dies, 0);
    ck_assert_uint_eq(t->n_clusters, 0);
    ck_assert_uint_eq(t->n_l2, 8);
    topology_free(t);
}
END_TEST

static void
say(const char *folder, const char *file, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", folder, file);

    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), NULL), 0);
}

/* A machine whose /sys reports that isolcpus isolates its last CPU. */
START_TEST(isolated_cpus_are_left_to_whoever_isolated_them)
{
    CLEANUP(scratch_freep) char *root = scratch_new();
    CLEANUP_FREE char *folder = xasprintf("%s/sys/devices/system/cpu", root);
    CLEANUP_FREE char *list = NULL;
    struct hardware_request request = {.root = root};
    cpu_set_t before, others;
    unsigned last = CPU_SETSIZE - 1;
    struct topology *t;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    if (CPU_COUNT(&before) < 2)
        SKIP("one CPU is all this process has");
    while (!CPU_ISSET(last, &before))
        last--;
    list = xasprintf("%u\n", last);
    ck_assert_int_eq(dir_make(folder, 0755, NULL), 0);
    say(folder, "isolated", list);
    say(folder, "present", "0-63\n");
    say(folder, "online", "0-61\n");

    t = discover(&request);
    ck_assert(!bitset_has(&t->pus, last));
    ck_assert(bitset_has(&t->isolated, last));
    ck_assert_uint_eq(bitset_count(&t->isolated), 1);
    assert_pus(&t->offline, "62-63");
    assert_sound(t);
    topology_free(t);

    /* With isolcpus all processes, also the agent, start without these CPUs. */
    others = before;
    CPU_CLR(last, &others);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(others), &others), 0);
    t = discover(&request);
    ck_assert(!bitset_has(&t->pus, last));
    ck_assert(bitset_has(&t->isolated, last));
    topology_free(t);

    request.offers_isolated = true;
    t = discover(&request);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
    ck_assert_int_eq((int)bitset_count(&t->pus), CPU_COUNT(&before));
    ck_assert(bitset_has(&t->pus, last));
    ck_assert(bitset_has(&t->isolated, last));
    topology_free(t);
}
END_TEST

START_TEST(machines_that_are_sold_come_out_as_they_are)
{
    static const struct {
        const char *name;
        unsigned pus, cores, l2, l3, numa, packages, gpus;
        unsigned near, far; /* distances of NUMA node 0 */
    } rows[] = {
        {"xeon-2s-snc4.xml", 224, 112, 112, 2, 8, 2, 0, 12, 21},
        {"epyc-2s-nps1.xml", 384, 192, 192, 24, 2, 2, 0, 32, 32},
        {"epyc-2s-nps4.xml", 384, 192, 192, 24, 8, 2, 0, 12, 32},
        {"grace-superchip.xml", 144, 144, 144, 2, 2, 2, 0, 40, 40},
        {"a64fx.xml", 48, 48, 4, 0, 4, 1, 0, 20, 20},
        {"gpu-box.xml", 256, 128, 128, 32, 8, 2, 8, 12, 32},
        {"xeon-max-2s-snc4-flat.xml", 224, 112, 112, 2, 16, 2, 0, 12, 23},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct topology *t = discover_data(rows[i].name, true);
        unsigned gpus = 0;

        for (unsigned d = 0; d < t->n_devices; d++)
            gpus += strcmp(t->devices[d].type, "gpu") == 0;
        ck_assert_uint_eq(bitset_count(&t->pus), rows[i].pus);
        ck_assert_uint_eq(t->n_cores, rows[i].cores);
        ck_assert_uint_eq(t->n_l2, rows[i].l2);
        ck_assert_uint_eq(t->n_l3, rows[i].l3);
        /* hwloc made all groups for NUMA nodes */
        ck_assert_uint_eq(t->n_clusters, 0);
        ck_assert_uint_eq(t->n_numa, rows[i].numa);
        ck_assert_uint_eq(t->n_packages, rows[i].packages);
        ck_assert_uint_eq(gpus, rows[i].gpus);
        ck_assert_uint_eq(t->distances[0], 10);
        ck_assert_uint_eq(t->distances[1], rows[i].near);
        ck_assert_uint_eq(t->distances[t->n_numa - 1], rows[i].far);
        assert_sound(t);
        topology_free(t);
    }
}
END_TEST

START_TEST(gpus_know_the_numa_node_that_they_hang_on)
{
    static const unsigned numa[] = {1, 1, 3, 3, 5, 5, 7, 7};
    struct topology *t = discover_data("gpu-box.xml", true);
    unsigned gpu = 0;

    for (unsigned d = 0; d < t->n_devices; d++)
        if (strcmp(t->devices[d].type, "gpu") == 0)
            ck_assert_uint_eq(t->devices[d].numa, numa[gpu++]);
    ck_assert_uint_eq(gpu, ARRAY_SIZE(numa));
    topology_free(t);
}
END_TEST

START_TEST(fast_memory_beside_the_cores_is_a_node_without_cpus)
{
    struct topology *t = discover_data("dram-and-hbm.xml", false);

    ck_assert_uint_eq(t->n_numa, 2);
    assert_pus(&t->pus, "0-2");
    assert_pus(&t->numa[0].pus, "0-2");
    assert_pus(&t->numa[1].pus, "");
    ck_assert_uint_eq(t->numa[1].memory_bytes, UINT64_C(4000000000));
    ck_assert_uint_eq(t->numa[1].package, 0);
    ck_assert_int_eq(t->numa[0].kind, TOPOLOGY_MEMORY_PLAIN);
    ck_assert_int_eq(t->numa[1].kind, TOPOLOGY_MEMORY_HBM);
    assert_pus(&t->offline, "3");
    assert_sound(t);
    topology_free(t);
}
END_TEST

/* They are numbered after the nodes with cores; each is nearest to one of them.
 */
START_TEST(each_cluster_of_a_flat_xeon_max_has_memory_of_both_kinds)
{
    struct topology *t = discover_data("xeon-max-2s-snc4-flat.xml", false);

    ck_assert_uint_eq(t->n_numa, 16);
    for (unsigned i = 0; i < 8; i++) {
        const struct topology_numa *hbm = &t->numa[8 + i];

        ck_assert_uint_eq(bitset_count(&t->numa[i].pus), 28);
        ck_assert_int_eq(t->numa[i].kind, TOPOLOGY_MEMORY_PLAIN);
        ck_assert_uint_eq(hbm->os_index, 8 + i);
        ck_assert_int_eq(hbm->kind, TOPOLOGY_MEMORY_HBM);
        ck_assert(bitset_is_empty(&hbm->pus));
        ck_assert_uint_eq(hbm->package, t->numa[i].package);
        ck_assert_uint_eq(t->distances[i * 16 + 8 + i], 13);
    }
    topology_free(t);
}
END_TEST

START_TEST(this_machine_is_sound_and_not_virtual)
{
    struct topology *t = discover(&(struct hardware_request){.with_devices = true});

    ck_assert(!t->is_virtual);
    ck_assert_uint_ge(t->n_numa, 1);
    ck_assert_uint_gt(t->numa[0].memory_bytes, 0);
    assert_sound(t);
    topology_free(t);
}
END_TEST

START_TEST(one_numa_node_has_all_the_memory_of_the_machine)
{
    struct topology *t = discover(&(struct hardware_request){0});
    struct sysinfo machine;
    uint64_t bytes = t->numa[0].memory_bytes;

    ck_assert_int_eq(sysinfo(&machine), 0);
    for (unsigned i = 0; i < t->numa[0].n_hugepages; i++)
        bytes += t->numa[0].hugepages[i].page_bytes * t->numa[0].hugepages[i].count;
    if (t->n_numa == 1)
        ck_assert_uint_ge(bytes, (uint64_t)machine.totalram * machine.mem_unit);
    topology_free(t);
}
END_TEST

START_TEST(an_agent_bound_to_one_cpu_offers_that_one)
{
    cpu_set_t before, one;
    int cpu = 0;
    struct topology *t;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);

    t = discover(&(struct hardware_request){0});

    sched_setaffinity(0, sizeof(before), &before);
    ck_assert_uint_eq(bitset_count(&t->pus), 1);
    ck_assert(bitset_has(&t->pus, (unsigned)cpu));
    ck_assert_uint_eq(t->n_cores, 1);
    topology_free(t);
}
END_TEST

START_TEST(a_variable_of_hwloc_cannot_pass_for_this_machine)
{
    struct topology *t = NULL;
    struct hardware_request request = {0};
    struct error err = {0};

    setenv("HWLOC_SYNTHETIC", "core:64 pu:2", 1);
    ck_assert_int_eq(hardware_discover(&request, &t, &err), -EINVAL);
    unsetenv("HWLOC_SYNTHETIC");

    ck_assert_ptr_nonnull(strstr(err.text, "HWLOC_"));
}
END_TEST

SUITE("hardware", synthetic_machines_come_out_as_described,
      every_pu_is_in_the_numa_node_that_its_level_says, nonsense_is_refused_with_the_reason,
      reserved_cpus_are_in_no_group, a_core_is_reserved_with_all_its_threads,
      a_reservation_that_cannot_be_is_refused, distances_kinds_and_hugepages_are_read,
      devices_are_found_when_asked_for, sub_numa_clusters_below_one_cache_are_told_apart,
      dies_and_clusters_are_levels_where_no_other_is_the_same,
      isolated_cpus_are_left_to_whoever_isolated_them, machines_that_are_sold_come_out_as_they_are,
      gpus_know_the_numa_node_that_they_hang_on,
      fast_memory_beside_the_cores_is_a_node_without_cpus,
      each_cluster_of_a_flat_xeon_max_has_memory_of_both_kinds,
      this_machine_is_sound_and_not_virtual, one_numa_node_has_all_the_memory_of_the_machine,
      an_agent_bound_to_one_cpu_offers_that_one, a_variable_of_hwloc_cannot_pass_for_this_machine)
