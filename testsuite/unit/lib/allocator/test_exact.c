/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the allocator's answer with a trial of all sets of NUMA nodes, on
 * machines without any regularity.
 */
#include "lib/allocator/allocator.h"

#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/numa_search.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"
#include "testsuite/unit/lib/allocator/odd_machines.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

struct trial {
    struct random_source dice;
    struct topology_index *topology_index;
    struct occupancy *o, *empty;
    struct demand d;
};

static unsigned
below(struct trial *t, unsigned limit)
{
    return (unsigned)random_below(&t->dice, limit);
}

static void
take_some(struct trial *t)
{
    const struct topology_index *s = t->topology_index;
    unsigned busy = below(t, 4), n_numa = 0, n_cores = 0, n_devices = 0;
    CLEANUP(holding_freep)
    struct holding *h = holding_new(s->n_cores, s->topology->n_devices, 2 * s->n_numa);

    for (unsigned i = 0; i < s->n_cores; i++)
        if (below(t, 4) < busy)
            h->cores[n_cores++] = (uint16_t)i;
    for (unsigned i = 0; i < s->topology->n_devices; i++)
        if (below(t, 4) < busy)
            h->devices[n_devices++] = (uint16_t)i;
    for (uint16_t i = 0; i < s->n_numa; i++) {
        if (below(t, 4) < busy)
            h->memory[n_numa++] = (struct holding_memory){
                .numa = i,
                .page = HOLDING_PLAIN,
                .bytes = below(t, 6) * GIB, /* may exceed the node's memory */
            };
        if (below(t, 4) < busy && s->n_pages > 0)
            h->memory[n_numa++] = (struct holding_memory){
                .numa = i,
                .page = 0,
                .bytes = below(t, 3) * 2 * MIB,
            };
    }
    h->n_cores = (uint16_t)n_cores;
    h->n_devices = (uint16_t)n_devices;
    h->n_memory = (uint16_t)n_numa;
    h->is_shared = below(t, 5) == 0;
    h->shared_milli = h->is_shared ? below(t, 4000) : 0;
    occupancy_take(t->o, h);
}

static void
draw_demand(struct trial *t)
{
    struct demand *d = &t->d;

    memset(d, 0, sizeof(*d));
    d->numa_policy = (enum numa_policy)below(t, 4);
    d->distribution = below(t, 4) == 0 ? (enum distribution)below(t, 3) : DISTRIBUTION_PACK;
    d->memory_policy = (enum memory_policy)below(t, 3);
    d->is_whole_node = below(t, 12) == 0;
    d->is_exclusive = d->is_whole_node || below(t, 6) > 0;
    d->has_far_devices = below(t, 5) == 0;
    if (d->is_exclusive)
        d->pus = 1 + below(t, below(t, 2) ? 6 : 16);
    else
        d->shared_milli = below(t, 6000);
    if (below(t, 3) == 0)
        d->threads_per_core = 1 + below(t, 3);
    if (below(t, 4) == 0)
        d->cores_per_package = 1 + below(t, 5);
    d->memory_bytes = below(t, 3) > 0 ? below(t, 12) * GIB / 2 : 0;
    if (below(t, 3) == 0)
        demand_add_resource(d, "kiln.hpc/gpu", 1 + below(t, 2));
    if (below(t, 6) == 0)
        demand_add_resource(d, "kiln.hpc/nic", 1);
    if (below(t, 5) == 0)
        demand_add_resource(d, "hugepages-2Mi", (1 + below(t, 6)) * 2 * MIB);
}

/* By trial */

static unsigned
yield_of(const struct trial *t, unsigned core)
{
    unsigned n = t->topology_index->cores[core].n_pus, most = t->d.threads_per_core;

    return most > 0 && most < n ? most : n;
}

/* PUs of the set's free cores: in each package, of those cores that yield most.
 */
static unsigned
usable(const struct trial *t, const struct occupancy *o, uint64_t set)
{
    const struct topology_index *s = t->topology_index;
    unsigned sum = 0;

    for (unsigned p = 0; p < s->n_packages; p++) {
        unsigned left = t->d.cores_per_package > 0 ? t->d.cores_per_package : s->n_cores;

        for (unsigned yield = s->max_threads; yield > 0; yield--)
            for (unsigned i = 0; i < s->n_cores && left > 0; i++)
                if (s->groups[s->cores[i].group].package == p && (set >> s->cores[i].numa & 1) != 0
                    && o->core_holders[i] == 0 && yield_of(t, i) == yield) {
                    sum += yield;
                    left--;
                }
    }
    return sum;
}

static bool
devices_are_there(const struct trial *t, const struct occupancy *o, uint64_t set)
{
    const struct topology *top = t->topology_index->topology;

    for (unsigned w = 0; w < t->d.n_devices; w++) {
        unsigned n = 0;

        for (unsigned i = 0; i < top->n_devices; i++)
            n += o->device_holders[i] == 0
                 && strcmp(top->devices[i].type, t->d.devices[w].type) == 0
                 && (top->devices[i].numa == TOPOLOGY_NONE
                     || (set >> top->devices[i].numa & 1) != 0);
        if (n < t->d.devices[w].count)
            return false;
    }
    return true;
}

static bool
holds(const struct trial *t, const struct occupancy *o, uint64_t set)
{
    const struct topology_index *s = t->topology_index;
    int64_t memory = 0, huge = 0;

    for (unsigned i = 0; i < s->n_numa; i++) {
        if ((set >> i & 1) == 0)
            continue;
        if (o->numa[i].free_memory > 0)
            memory += o->numa[i].free_memory;
        if (s->n_pages > 0 && o->numa[i].free_huge[0] > 0)
            huge += o->numa[i].free_huge[0];
    }
    return memory >= t->d.memory_bytes && (t->d.n_hugepages == 0 || huge >= t->d.hugepages[0].bytes)
           && (!t->d.is_exclusive || usable(t, o, set) >= t->d.pus)
           && devices_are_there(t, o, t->d.has_far_devices ? UINT64_MAX : set);
}

/* The smallest number of NUMA nodes that hold the demand, or 0. */
static unsigned
fewest(const struct trial *t, const struct occupancy *o)
{
    unsigned n = t->topology_index->n_numa, best = 0;

    for (uint64_t set = 1; set < UINT64_C(1) << n; set++) {
        unsigned width = (unsigned)__builtin_popcountll(set);

        if ((best == 0 || width < best) && holds(t, o, set))
            best = width;
    }
    return best;
}

static bool
is_possible(const struct trial *t)
{
    const struct occupancy *o = t->o;
    unsigned width, on_empty;

    if (t->d.is_whole_node && (o->free_cores < t->topology_index->n_cores || o->n_shared > 0))
        return false;
    if (!t->d.is_exclusive
        && (o->free_pus == 0 || o->shared_milli + t->d.shared_milli > (int64_t)o->free_pus * 1000))
        return false;
    width = fewest(t, o);
    on_empty = fewest(t, t->empty);
    if (t->d.numa_policy == NUMA_SINGLE)
        return width == 1;
    if (t->d.numa_policy == NUMA_RESTRICTED)
        return width > 0 && width <= on_empty;
    return width > 0;
}

/* Whether the shared pool keeps enough CPUs after the grant. */
static bool
leaves_pool(const struct trial *t, const struct grant *g)
{
    unsigned left =
        t->o->free_pus - (g->is_shared ? 0 : bitset_count(&g->cpus) + bitset_count(&g->withheld));

    return t->o->n_shared == 0 || (left > 0 && (int64_t)left * 1000 >= t->o->shared_milli);
}

static enum allocator_answer
grant_without_pool(const struct trial *t, struct grant *g)
{
    unsigned n_shared = t->o->n_shared;
    enum allocator_answer answer;

    t->o->n_shared = 0;
    answer = allocator_grant(t->o, &t->d, g);
    t->o->n_shared = n_shared;
    return answer;
}

static void
check_amounts(const struct trial *t, const struct grant *g)
{
    const struct topology *top = t->topology_index->topology;
    unsigned n_devices = 0;
    int64_t memory = 0, huge = 0;
    struct bitset both = g->cpus;

    bitset_and(&both, &g->withheld);
    ck_assert(bitset_is_empty(&both));
    if (t->d.is_exclusive && !t->d.is_whole_node)
        ck_assert_uint_eq(bitset_count(&g->cpus), t->d.pus);
    bitset_foreach(core, &g->cores) ck_assert_uint_eq(t->o->core_holders[core], 0);
    for (unsigned i = 0; i < t->topology_index->n_numa; i++) {
        int64_t there = t->o->numa[i].free_memory;

        ck_assert_int_le(g->memory[i], there > 0 ? there : 0);
        memory += g->memory[i];
        huge += g->huge[0][i];
        if (g->huge[0][i] > 0)
            ck_assert_int_le(g->huge[0][i], t->o->numa[i].free_huge[0]);
    }
    ck_assert_int_eq(memory, t->d.memory_bytes);
    ck_assert_int_eq(huge, t->d.n_hugepages > 0 ? t->d.hugepages[0].bytes : 0);
    bitset_foreach(i, &g->devices) ck_assert_uint_eq(t->o->device_holders[i], 0);
    for (unsigned w = 0; w < t->d.n_devices; w++) {
        unsigned of_type = 0;

        bitset_foreach(i, &g->devices) of_type +=
            strcmp(top->devices[i].type, t->d.devices[w].type) == 0;
        ck_assert_uint_eq(of_type, t->d.devices[w].count);
        n_devices += of_type;
    }
    ck_assert_uint_eq(bitset_count(&g->devices), n_devices);
}

/* The grant's NUMA nodes; devices count only if they have to be near. */
static uint64_t
nodes_of(const struct trial *t, const struct grant *g)
{
    const struct topology *top = t->topology_index->topology;
    uint64_t nodes = 0;

    bitset_foreach(core, &g->cores) nodes |= UINT64_C(1) << t->topology_index->cores[core].numa;
    for (unsigned i = 0; i < t->topology_index->n_numa; i++)
        if (g->memory[i] > 0 || g->huge[0][i] > 0)
            nodes |= UINT64_C(1) << i;
    bitset_foreach(i,
                   &g->devices) if (!t->d.has_far_devices && top->devices[i].numa != TOPOLOGY_NONE)
        nodes |= UINT64_C(1) << top->devices[i].numa;
    return nodes;
}

static void
check_grant(const struct trial *t, const struct grant *g)
{
    unsigned width = (unsigned)__builtin_popcountll(nodes_of(t, g));

    check_amounts(t, g);
    ck_assert(leaves_pool(t, g));
    if (t->d.cores_per_package > 0 && !t->d.is_whole_node) {
        unsigned in_package[BITSET_BITS] = {0};

        bitset_foreach(core, &g->cores) ck_assert_uint_le(
            ++in_package[t->topology_index->groups[t->topology_index->cores[core].group].package],
            t->d.cores_per_package);
    }
    if (t->d.is_whole_node)
        return; /* any part of the whole node */
    if (t->d.distribution == DISTRIBUTION_PACK)
        ck_assert_uint_le(width, fewest(t, t->o));
    if (t->d.numa_policy == NUMA_SINGLE)
        ck_assert_uint_le(width, 1);
    if (t->d.numa_policy == NUMA_RESTRICTED)
        ck_assert_uint_le(width, fewest(t, t->empty));
}

static void
try_one(struct trial *t)
{
    CLEANUP_FREE struct grant *g = xnew(struct grant);
    enum allocator_answer answer;

    draw_demand(t);
    answer = allocator_grant(t->o, &t->d, g);
    if (answer == ALLOCATOR_FITS) {
        ck_assert(is_possible(t));
        check_grant(t, g);
    } else if (is_possible(t)) {
        /* The CPUs are reserved for the shared pool. */
        ck_assert_int_eq(answer, ALLOCATOR_NO_CORES);
        ck_assert_int_eq(grant_without_pool(t, g), ALLOCATOR_FITS);
        ck_assert(!leaves_pool(t, g));
    }
}

/* Like on machines with too many NUMA nodes to try all sets. */
static void
try_in_few_steps(struct trial *t)
{
    unsigned n = t->topology_index->n_numa, width, best;
    struct numa_search s;
    bool has_found;

    draw_demand(t);
    if ((t->d.cores_per_package > 0 && !t->topology_index->is_uniform)
        || !devices_are_there(t, t->o, UINT64_MAX)) /* checked before the search */
        return;
    best = fewest(t, t->o);
    numa_search_init(&s, t->o, &t->d);
    s.limit = 0;
    for (width = 1; width <= n; width++) {
        has_found = numa_search_run(&s, width);
        ck_assert(has_found == (width == best));
        if (has_found)
            break;
    }
    if (best > 0)
        ck_assert(holds(t, t->o, s.best));
}

static void
run(uint64_t seed)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    struct trial t = {.dice = {seed}};

    odd_machine(&t.dice, &s);
    t.topology_index = machine_of(s.text);
    t.empty = occupancy_new(t.topology_index);
    for (unsigned i = 0; i < 6; i++) {
        t.o = occupancy_new(t.topology_index);
        take_some(&t);
        for (unsigned n = 0; n < 40; n++)
            if (n % 2 == 0)
                try_one(&t);
            else
                try_in_few_steps(&t);
        occupancy_free(t.o);
    }
    occupancy_free(t.empty);
    topology_index_unref(t.topology_index);
}

START_TEST(the_answer_is_that_of_trying_all_sets_of_numa_nodes)
{
    for (uint64_t seed = 1; seed <= (IS_SANITIZED ? 150 : 1500); seed++)
        run(seed);
}
END_TEST

SUITE("exact", the_answer_is_that_of_trying_all_sets_of_numa_nodes)
