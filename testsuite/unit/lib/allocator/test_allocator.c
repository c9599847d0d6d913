/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/allocator.h"

#include <errno.h>
#include <string.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/kubelet_grant.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/node/allocation.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/random.h"
#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)

static struct demand
exclusive(unsigned pus, int64_t memory)
{
    return (struct demand){
        .is_exclusive = true,
        .pus = pus,
        .memory_bytes = memory,
        .numa_policy = NUMA_BEST_EFFORT,
    };
}

static const char *
list_of(const struct bitset *set)
{
    static char texts[4][256];
    static unsigned next;
    char *text = texts[next++ % 4];
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    cpuset_format(set, &s);
    snprintf(text, sizeof(texts[0]), "%s", s.text);
    return text;
}

static void
take(struct occupancy *o, const struct grant *g)
{
    CLEANUP(holding_freep)
    struct holding *h = grant_holding(g, o->topology_index);

    occupancy_take(o, h);
}

static void
take_cores(struct occupancy *o, unsigned pus, enum numa_policy policy)
{
    struct demand d = exclusive(pus, 0);
    struct grant g;

    d.numa_policy = policy;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    take(o, &g);
}

START_TEST(siblings_that_are_not_used_are_withheld)
{
    struct topology_index *s = machine(1, 4, 2, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(3, 0);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-1,4");
    ck_assert_str_eq(list_of(&g.withheld), "5");

    d.threads_per_core = 1;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-2");
    ck_assert_str_eq(list_of(&g.withheld), "4-6");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(the_tightest_numa_node_is_filled_first)
{
    struct topology_index *s = machine(2, 4, 1, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(2, 0);
    struct grant g;

    take_cores(o, 1, NUMA_BEST_EFFORT);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "1-2");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(an_l3_group_that_holds_all_is_preferred)
{
    struct topology_index *s = machine(1, 8, 1, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(3, 0);
    struct grant g;

    take_cores(o, 2, NUMA_BEST_EFFORT);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "4-6");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(policies_answer_as_documented)
{
    static const struct {
        enum numa_policy policy;
        unsigned pus;
        enum allocator_answer answer;
    } rows[] = {
        {NUMA_NONE, 6, ALLOCATOR_FITS},
        {NUMA_BEST_EFFORT, 6, ALLOCATOR_FITS},
        /* also two nodes on an empty machine */
        {NUMA_RESTRICTED, 6, ALLOCATOR_FITS},
        {NUMA_RESTRICTED, 4, ALLOCATOR_NOT_ALIGNED},
        {NUMA_SINGLE, 4, ALLOCATOR_NOT_ALIGNED},
        {NUMA_SINGLE, 3, ALLOCATOR_FITS},
        {NUMA_SINGLE, 6, ALLOCATOR_TOO_SMALL},
        {NUMA_NONE, 7, ALLOCATOR_NO_CORES},
        {NUMA_NONE, 9, ALLOCATOR_TOO_SMALL},
    };
    struct topology_index *s = machine(2, 4, 1, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct bitset one = {0};
    struct holding *h = holding_new(2, 0, 0);
    struct allocator_choice choice;

    /* Three cores are left on each NUMA node. */
    bitset_add(&one, 0);
    h->cores[0] = 0;
    h->cores[1] = 4;
    occupancy_take(o, h);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct demand d = exclusive(rows[i].pus, 0);

        d.numa_policy = rows[i].policy;
        ck_assert_msg(allocator_choose(o, &d, &choice) == rows[i].answer, "row %zu", i);
    }
    holding_free(h);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(memory_goes_where_the_cores_are_and_then_beside)
{
    struct topology_index *s = machine(2, 4, 1, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(2, 20 * GIB);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_int_eq(g.memory[0] + g.memory[1], 20 * GIB);
    ck_assert_uint_eq(g.memory_nodes, 3);

    d.memory_bytes = 4 * GIB;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_int_eq(g.memory[0], 4 * GIB);
    ck_assert_uint_eq(g.memory_nodes, 1);

    d.memory_bytes = 20 * GIB;
    d.numa_policy = NUMA_SINGLE;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_TOO_SMALL);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(devices_come_from_the_numa_node_of_the_cores)
{
    struct topology_index *s = machine(2, 4, 1, 16, 4);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(2, 0);
    struct grant g;

    take_cores(o, 4, NUMA_SINGLE);
    demand_add_resource(&d, "kiln.hpc/gpu", 1);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.devices), "1");
    take(o, &g);

    d.numa_policy = NUMA_SINGLE;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NOT_ALIGNED);
    d.numa_policy = NUMA_NONE;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.devices), "0");
    demand_add_resource(&d, "kiln.hpc/nic", 1);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NO_SUCH_DEVICES);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(scatter_and_cyclic_use_all_numa_nodes)
{
    struct topology_index *s = machine(2, 4, 1, 16, 2);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(4, 0);
    struct grant g;

    d.distribution = DISTRIBUTION_CYCLIC;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-1,4-5");
    d.distribution = DISTRIBUTION_SCATTER;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0,2,4,6");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(the_shared_pool_is_never_taken_from_under_its_pods)
{
    struct topology_index *s = machine(1, 2, 2, 16, 2);
    struct occupancy *o = occupancy_new(s);
    struct demand shared = {.shared_milli = 1500}, d = exclusive(2, 0);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &shared, &g), ALLOCATOR_FITS);
    take(o, &g);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    take(o, &g);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NO_CORES);
    shared.shared_milli = 600;
    ck_assert_int_eq(allocator_grant(o, &shared, &g), ALLOCATOR_NO_SHARED);
    shared.shared_milli = 500;
    ck_assert_int_eq(allocator_grant(o, &shared, &g), ALLOCATOR_FITS);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_whole_node_is_taken_only_empty)
{
    struct topology_index *s = machine(2, 2, 2, 16, 2);
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(1, 0);
    struct grant g;

    d.is_whole_node = true;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-7");
    take_cores(o, 1, NUMA_NONE);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_NOT_EMPTY);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

/* The width of the whole node is the divisor of a part of the score. */
START_TEST(a_whole_node_without_memory_is_taken_by_a_pod_that_requests_nothing)
{
    struct topology_index *s = machine(2, 2, 2, 0, 2);
    struct occupancy *o = occupancy_new(s);
    struct demand d = {.is_exclusive = true, .is_whole_node = true};
    struct allocator_choice choice;
    struct grant g;

    ck_assert_int_eq(allocator_choose(o, &d, &choice), ALLOCATOR_FITS);
    ck_assert_uint_eq(choice.width, 2);
    ck_assert_uint_eq(choice.numa, 3);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-7");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(close_numa_nodes_go_before_far_ones)
{
    struct topology_index *s =
        machine_of("{\"cpus\":\"0-7\",\"packages\":[\"0-7\"],\"cores\":[\"0\",\"1\","
                   "\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"],\"numaNodes\":["
                   "{\"node\":0,\"cpus\":\"0-1\",\"memory\":\"1Gi\",\"distances\":[10,40,"
                   "40,12]},"
                   "{\"node\":1,\"cpus\":\"2-3\",\"memory\":\"1Gi\",\"distances\":[40,10,"
                   "40,40]},"
                   "{\"node\":2,\"cpus\":\"4-5\",\"memory\":\"1Gi\",\"distances\":[40,40,"
                   "10,40]},"
                   "{\"node\":3,\"cpus\":\"6-7\",\"memory\":\"1Gi\",\"distances\":[12,40,"
                   "40,10]}]}");
    struct occupancy *o = occupancy_new(s);
    struct demand d = exclusive(4, 0);
    struct grant g;

    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    ck_assert_str_eq(list_of(&g.cpus), "0-1,6-7");
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

/* Invariants of any random machine. */
#define MOST_PODS 200

struct tenant {
    struct grant grant;
    struct holding *holding;
    struct demand demand;
};

static const struct kubelet_rules rules = {
    .options = {.distribute_across_numa = true},
};

static struct demand
random_demand(struct random_source *r)
{
    struct demand d = {
        .numa_policy = (enum numa_policy)random_below(r, 4),
        .distribution = (enum distribution)random_below(r, 3),
        .memory_bytes = (int64_t)random_below(r, 6) * GIB,
        .threads_per_core = (unsigned)random_below(r, 3),
    };

    if (random_below(r, 4) == 0) {
        d.shared_milli = (int64_t)random_below(r, 3000);
    } else {
        d.is_exclusive = true;
        d.pus = 1 + (unsigned)random_below(r, 12);
    }
    if (random_below(r, 4) == 0)
        d.cores_per_package = 1 + (unsigned)random_below(r, 6);
    if (random_below(r, 5) == 0)
        demand_add_resource(&d, "hugepages-2Mi", (int64_t)random_below(r, 300) << 20);
    d.has_far_devices = random_below(r, 8) == 0;
    if (random_below(r, 3) == 0)
        d.rules = &rules;
    if (random_below(r, 5) == 0)
        demand_add_resource(&d, "kiln.hpc/gpu", 1 + (unsigned)random_below(r, 2));
    return d;
}

static void
check_packages(const struct topology_index *s, const struct tenant *t)
{
    const struct topology *topology = s->topology;

    for (unsigned p = 0; p < s->n_packages; p++) {
        unsigned cores = 0;

        bitset_foreach(core, &t->grant.cores) cores +=
            bitset_intersects(&topology->cores[core].pus, &topology->packages[p].pus);
        if (t->demand.cores_per_package > 0)
            ck_assert_uint_le(cores, t->demand.cores_per_package);
    }
}

static void
check_grant(const struct topology_index *s, const struct tenant *t)
{
    const struct demand *d = &t->demand;
    int64_t memory = 0, huge = 0, wanted = 0;

    for (unsigned i = 0; i < s->n_numa; i++) {
        memory += t->grant.memory[i];
        huge += t->grant.huge[0][i];
    }
    for (unsigned i = 0; i < d->n_hugepages; i++)
        wanted += d->hugepages[i].bytes;
    ck_assert_int_eq(memory, d->memory_bytes);
    ck_assert_int_ge(huge, wanted);
    ck_assert_int_lt(huge, wanted + (2 << 20));
    if (d->is_exclusive)
        ck_assert_uint_eq(bitset_count(&t->grant.cpus), d->pus);
    check_packages(s, t);
    ck_assert(!bitset_intersects(&t->grant.cpus, &t->grant.withheld));
    if (d->numa_policy == NUMA_SINGLE)
        ck_assert_uint_le(__builtin_popcountll(t->grant.memory_nodes), 1);
}

static void
check_all(const struct occupancy *o, struct tenant *const *tenants, unsigned n)
{
    const struct topology_index *s = o->topology_index;
    struct bitset taken = {0}, devices = {0};
    int64_t memory[64] = {0}, huge[64] = {0}, shared = 0;
    unsigned cores = 0;

    for (unsigned i = 0; i < n; i++) {
        struct bitset all = tenants[i]->grant.cpus;

        bitset_or(&all, &tenants[i]->grant.withheld);
        ck_assert(!bitset_intersects(&taken, &all));
        ck_assert(!bitset_intersects(&devices, &tenants[i]->grant.devices));
        bitset_or(&taken, &all);
        bitset_or(&devices, &tenants[i]->grant.devices);
        cores += tenants[i]->holding->n_cores;
        shared += tenants[i]->grant.shared_milli;
        for (unsigned m = 0; m < s->n_numa; m++) {
            memory[m] += tenants[i]->grant.memory[m];
            huge[m] += tenants[i]->grant.huge[0][m];
        }
    }
    for (unsigned core = 0; core < s->n_cores; core++) {
        const struct bitset *pus = &s->topology->cores[core].pus;
        unsigned used = bitset_count_and(pus, &taken);

        ck_assert(used == 0 || used == bitset_count(pus));
        ck_assert_int_eq(bitset_has(&o->core_set, core), used == 0);
    }
    ck_assert_uint_eq(o->free_cores, s->n_cores - cores);
    ck_assert_int_eq(o->shared_milli, shared);
    ck_assert_int_le(shared, (int64_t)o->free_pus * 1000);
    for (unsigned m = 0; m < s->n_numa; m++) {
        ck_assert_int_ge(o->numa[m].free_memory, 0);
        ck_assert_int_eq(o->numa[m].free_memory + memory[m],
                         (int64_t)s->topology->numa[m].memory_bytes);
        ck_assert_int_ge(o->numa[m].free_huge[0], 0);
        ck_assert_int_eq(o->numa[m].free_huge[0] + huge[m], s->numa[m].huge_bytes[0]);
    }
}

static void
check_sole_holder(const struct occupancy *o, const struct holding *h)
{
    for (unsigned i = 0; i < h->n_cores; i++)
        ck_assert_uint_eq(o->core_holders[h->cores[i]], 1);
    for (unsigned i = 0; i < h->n_devices; i++)
        ck_assert_uint_eq(o->device_holders[h->devices[i]], 1);
}

static void
run_random(struct topology_index *s, uint64_t seed)
{
    struct random_source r = {seed};
    struct occupancy *o = occupancy_new(s);
    struct tenant *tenants[MOST_PODS];
    unsigned n = 0;

    for (int step = 0; step < 400; step++) {
        if (n > 0 && (random_below(&r, 3) == 0 || n == MOST_PODS)) {
            unsigned which = (unsigned)random_below(&r, n);
            struct tenant *gone = tenants[which];

            occupancy_release(o, gone->holding);
            tenants[which] = tenants[--n];
            holding_free(gone->holding);
            free(gone);
        } else {
            struct tenant *t = xnew(struct tenant);

            t->demand = random_demand(&r);
            if (allocator_grant(o, &t->demand, &t->grant) == ALLOCATOR_FITS) {
                check_grant(s, t);
                t->holding = grant_holding(&t->grant, s);
                occupancy_take(o, t->holding);
                check_sole_holder(o, t->holding);
                tenants[n++] = t;
            } else {
                free(t);
            }
        }
        check_all(o, tenants, n);
    }
    while (n > 0) {
        occupancy_release(o, tenants[--n]->holding);
        holding_free(tenants[n]->holding);
        free(tenants[n]);
    }
    ck_assert_uint_eq(o->free_cores, s->n_cores);
    ck_assert_int_eq(o->free_memory, (int64_t)s->memory_bytes);
    occupancy_free(o);
}

START_TEST(random_allocations_never_overlap_nor_split_cores_nor_lose_memory)
{
    struct topology_index *machines[] = {
        machine(1, 4, 1, 8, 4),
        machine(2, 4, 2, 8, 2),
        machine(4, 8, 2, 4, 4),
        machine(8, 3, 4, 2, 3),
        machine_of("{\"cpus\":\"0-2,4,6-7\",\"packages\":[\"0-2,4,6-7\"],"
                   "\"cores\":[\"0,4\",\"1\",\"2,6\",\"7\"],\"numaNodes\":["
                   "{\"node\":0,\"cpus\":\"0-1,4\",\"memory\":\"4Gi\","
                   "\"hugepages\":{\"2Mi\":\"256\"}},"
                   "{\"node\":3,\"cpus\":\"2,6-7\",\"memory\":\"2Gi\"},"
                   "{\"node\":5,\"cpus\":\"\",\"memory\":\"8Gi\"}]}"),
    };

    for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
        for (uint64_t seed = 1; seed <= (IS_SANITIZED ? 3 : 20); seed++)
            run_random(machines[m], seed);
        topology_index_unref(machines[m]);
    }
}
END_TEST

/* The largest possible node, with every policy, also by the kubelet's rules,
 * with all kinds of free memory and cores: a search that grows with the sets of
 * 64 NUMA nodes would not end.
 */
START_TEST(a_machine_of_64_numa_nodes_is_no_trouble)
{
    static const struct kubelet_rules kubelet = {.prefers_closest = true};
    struct topology_index *s = machine(64, 8, 2, 16, 8);
    struct occupancy *o = occupancy_new(s);
    struct random_source r = {7};
    struct bitset taken = {0};
    unsigned placed = 0;

    for (unsigned step = 0; step < 600; step++) {
        unsigned pus = 1 + (unsigned)random_below(&r, 24);
        struct demand d = exclusive(step % 8 == 0 ? pus + 150 : pus, (int64_t)pus * GIB / 2);
        struct grant g;

        d.numa_policy = (enum numa_policy)(step / 8 % (NUMA_SINGLE + 1));
        if (step < 60) { /* fill half of it in pieces */
            d = exclusive(1 + pus / 2, GIB);
            d.numa_policy = NUMA_SINGLE;
        }
        d.rules = step % 3 == 0 ? &kubelet : NULL;
        if (allocator_grant(o, &d, &g) != ALLOCATOR_FITS)
            continue;
        ck_assert(!bitset_intersects(&taken, &g.cpus));
        ck_assert_uint_eq(bitset_count(&g.cpus), d.pus);
        if (d.numa_policy == NUMA_SINGLE)
            ck_assert_int_eq(__builtin_popcountll(g.memory_nodes), 1);
        bitset_or(&taken, &g.cpus);
        bitset_or(&taken, &g.withheld);
        take(o, &g);
        placed++;
    }

    ck_assert_uint_eq(s->n_numa, 64);
    ck_assert_uint_gt(placed, 20);
    ck_assert_uint_gt(bitset_count(&taken), 900);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

/* Five whole NUMA nodes among 59 that lack a core: no thirteen nodes hold 200
 * PUs, though thirteen whole ones would, and there are 10^13 sets to try.
 */
START_TEST(a_width_that_just_does_not_do_is_given_up)
{
    struct topology_index *s = machine(64, 8, 2, 16, 8);
    struct occupancy *o = occupancy_new(s);
    struct holding *whole[5];
    struct demand d = exclusive(16, 0);
    struct allocator_choice choice;
    struct grant g;

    d.numa_policy = NUMA_SINGLE;
    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
        whole[i] = grant_holding(&g, s);
        occupancy_take(o, whole[i]);
    }
    d = exclusive(59 * 2, 0);
    d.distribution = DISTRIBUTION_SCATTER;
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    take(o, &g);
    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        occupancy_release(o, whole[i]);
        holding_free(whole[i]);
    }
    for (unsigned i = 0; i < s->n_numa; i++)
        ck_assert_uint_ge(o->numa[i].free_pus, 14);

    d = exclusive(200, 0);
    ck_assert_int_eq(allocator_choose(o, &d, &choice), ALLOCATOR_FITS);
    ck_assert_uint_eq(choice.width, 14);
    d.numa_policy = NUMA_RESTRICTED;
    ck_assert_int_eq(allocator_choose(o, &d, &choice), ALLOCATOR_NOT_ALIGNED);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(a_written_grant_is_read_back)
{
    struct topology_index *s = machine(2, 4, 2, 16, 4);
    struct occupancy *o = occupancy_new(s);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct demand d = exclusive(11, 20 * GIB);
    struct allocation a = {0};
    struct holding *made, *read;
    struct grant g;
    struct json *wire;

    demand_add_resource(&d, "kiln.hpc/gpu", 2);
    ck_assert_int_eq(allocator_grant(o, &d, &g), ALLOCATOR_FITS);
    made = grant_holding(&g, s);
    wire = grant_encode(&g, s, arena);
    record_decode(&allocation_record, arena, wire, &a);
    ck_assert_int_eq(holding_of_allocation(s, &a, &read, NULL), 0);
    ck_assert(holding_equals(made, read));
    ck_assert_int_eq(made->charged_milli, 12000);
    ck_assert_int_eq(read->charged_milli, 12000);
    holding_free(made);
    holding_free(read);
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

START_TEST(an_allocation_of_what_is_not_there_is_counted_as_far_as_it_is)
{
    struct topology_index *s = machine(1, 2, 1, 16, 2);
    struct allocation a = {.cpus = "1-5", .memory_nodes = "0"};
    struct holding *h = NULL;
    struct error err = {0};

    ck_assert_int_eq(holding_of_allocation(s, &a, &h, &err), -ENXIO);
    ck_assert_ptr_nonnull(h);
    ck_assert_uint_eq(h->n_cores, 1);
    holding_free(h);

    h = NULL;
    a.cpus = "x";
    ck_assert_int_eq(holding_of_allocation(s, &a, &h, &err), -EINVAL);
    ck_assert_ptr_null(h);
    topology_index_unref(s);
}
END_TEST

SUITE("allocator", siblings_that_are_not_used_are_withheld, the_tightest_numa_node_is_filled_first,
      an_l3_group_that_holds_all_is_preferred, policies_answer_as_documented,
      memory_goes_where_the_cores_are_and_then_beside, devices_come_from_the_numa_node_of_the_cores,
      scatter_and_cyclic_use_all_numa_nodes, the_shared_pool_is_never_taken_from_under_its_pods,
      a_whole_node_is_taken_only_empty,
      a_whole_node_without_memory_is_taken_by_a_pod_that_requests_nothing,
      close_numa_nodes_go_before_far_ones,
      random_allocations_never_overlap_nor_split_cores_nor_lose_memory,
      a_machine_of_64_numa_nodes_is_no_trouble, a_width_that_just_does_not_do_is_given_up,
      a_written_grant_is_read_back, an_allocation_of_what_is_not_there_is_counted_as_far_as_it_is)
