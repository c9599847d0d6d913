/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a choice of NUMA nodes into exact cores, bytes and devices. */
#include <string.h>

#include "lib/allocator/allocator.h"
#include "lib/allocator/demand.h"
#include "lib/allocator/kubelet_grant.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/base/alloc.h"

/* The cores that are still available while a grant is made. */
struct grant_state {
    const struct occupancy *o;
    const struct demand *d;
    struct grant *grant;
    struct bitset free; /* cores */
    uint16_t group_free[BITSET_BITS];
    uint16_t package_left[BITSET_BITS]; /* cores that may still be taken */
    unsigned wanted;                    /* PUs */
};

static bool
in_set(uint64_t set, unsigned numa)
{
    return (set >> numa & 1) != 0;
}

/* Takes the core: uses as many of its threads as the demand may use and still
 * wants, and withholds the others.
 */
static void
take_core(struct grant_state *p, unsigned core)
{
    const struct topology_index *ti = p->o->topology_index;
    unsigned threads = p->d->threads_per_core, used = 0;

    bitset_remove(&p->free, core);
    p->group_free[ti->cores[core].group]--;
    p->package_left[ti->groups[ti->cores[core].group].package]--;
    bitset_add(&p->grant->cores, core);
    bitset_foreach(pu, &ti->topology->cores[core].pus)
    {
        bool is_used = p->wanted > 0 && (threads == 0 || used < threads);

        if (is_used) {
            bitset_add(&p->grant->cpus, pu);
            p->wanted--;
            used++;
        } else {
            bitset_add(&p->grant->withheld, pu);
        }
    }
}

static unsigned
core_yield(const struct grant_state *p, unsigned core)
{
    unsigned n = p->o->topology_index->cores[core].n_pus;
    unsigned threads = p->d->threads_per_core;

    return threads > 0 && threads < n ? threads : n;
}

/* The number of cores that may still be taken from the group. */
static unsigned
group_left(const struct grant_state *p, unsigned group)
{
    unsigned left = p->package_left[p->o->topology_index->groups[group].package];

    return left < p->group_free[group] ? left : p->group_free[group];
}

static unsigned
group_yield(const struct grant_state *p, unsigned group)
{
    const struct topology_index *ti = p->o->topology_index;
    unsigned threads = p->d->threads_per_core, sum = 0, left;

    if (threads == 1)
        return group_left(p, group);
    if (ti->is_uniform)
        return group_left(p, group)
               * (threads > 0 && threads < ti->max_threads ? threads : ti->max_threads);
    left = group_left(p, group);
    bitset_foreach(core, &ti->groups[group].cores)
    {
        if (left == 0)
            break;
        if (!bitset_has(&p->free, core))
            continue;
        sum += core_yield(p, core);
        left--;
    }
    return sum;
}

/* The group to take cores from next: the tightest of the groups that hold all
 * that is wanted; if there is none, the one that yields most.
 */
static unsigned
best_group(const struct grant_state *p, unsigned numa, unsigned wanted)
{
    const struct topology_index_numa *n = &p->o->topology_index->numa[numa];
    unsigned best = UINT16_MAX, best_yield = 0;

    for (unsigned i = 0; i < n->n_groups; i++) {
        unsigned group = n->first_group + i;
        unsigned yield = group_yield(p, group);
        bool holds = yield >= wanted, best_holds = best_yield >= wanted;

        if (yield == 0)
            continue;
        if (best == UINT16_MAX || (holds && !best_holds) || (holds && yield < best_yield)
            || (!holds && !best_holds && yield > best_yield)) {
            best = group;
            best_yield = yield;
        }
    }
    return best;
}

/* The first core of the group that yields no more than is wanted. If every core
 * yields more, the one with fewest threads, so that fewest are withheld.
 */
static unsigned
next_core(const struct grant_state *p, unsigned group, unsigned wanted)
{
    const struct topology_index *ti = p->o->topology_index;
    unsigned best = BITSET_BITS;

    bitset_foreach(core, &ti->groups[group].cores)
    {
        if (!bitset_has(&p->free, core))
            continue;
        if (ti->is_uniform || core_yield(p, core) <= wanted)
            return core;
        if (best == BITSET_BITS || ti->cores[core].n_pus < ti->cores[best].n_pus)
            best = core;
    }
    return best;
}

/* Fills group after group (distribution "pack"). Returns how many PUs are
 * missing.
 */
static unsigned
take_packed(struct grant_state *p, unsigned numa, unsigned pus)
{
    while (pus > 0) {
        unsigned group = best_group(p, numa, pus);

        if (group == UINT16_MAX)
            return pus;
        while (pus > 0 && group_left(p, group) > 0) {
            unsigned core = next_core(p, group, pus);
            unsigned yield = core_yield(p, core);

            take_core(p, core);
            pus -= yield < pus ? yield : pus;
        }
    }
    return 0;
}

/* Takes one core of the NUMA node: from the group with most cores left
 * (scatter), or from the first group that has any (cyclic). False: no core is
 * left.
 */
static bool
take_one(struct grant_state *p, unsigned numa)
{
    const struct topology_index_numa *n = &p->o->topology_index->numa[numa];
    unsigned best = UINT16_MAX;

    for (unsigned i = 0; i < n->n_groups; i++) {
        unsigned group = n->first_group + i;

        if (group_left(p, group) == 0)
            continue;
        if (best == UINT16_MAX
            || (p->d->distribution == DISTRIBUTION_SCATTER
                && group_left(p, group) > group_left(p, best)))
            best = group;
    }
    if (best == UINT16_MAX)
        return false;
    take_core(p, next_core(p, best, p->wanted));
    return true;
}

static void
take_in_turn(struct grant_state *p, uint64_t set)
{
    bool any = true;

    while (p->wanted > 0 && any) {
        any = false;
        for (unsigned i = 0; i < p->o->topology_index->n_numa && p->wanted > 0; i++)
            if (in_set(set, i) && take_one(p, i))
                any = true;
    }
}

static unsigned
numa_yield(const struct grant_state *p, unsigned numa)
{
    const struct topology_index_numa *n = &p->o->topology_index->numa[numa];
    unsigned sum = 0;

    for (unsigned i = 0; i < n->n_groups; i++)
        sum += group_yield(p, n->first_group + i);
    return sum;
}

/* Takes cores from the NUMA node with least free first and from the one with
 * most free last, so that the free cores that remain stay together.
 */
static void
take_in_order(struct grant_state *p, uint64_t set)
{
    while (p->wanted > 0 && set != 0) {
        unsigned next = 64, least = 0;

        for (unsigned i = 0; i < p->o->topology_index->n_numa; i++) {
            unsigned yield = in_set(set, i) ? numa_yield(p, i) : 0;

            if (in_set(set, i) && (next == 64 || yield < least)) {
                next = i;
                least = yield;
            }
        }
        set &= ~(UINT64_C(1) << next);
        if (least > 0)
            take_packed(p, next, p->wanted < least ? p->wanted : least);
    }
}

static void
take(struct grant_state *p, uint64_t set)
{
    if (p->d->distribution == DISTRIBUTION_PACK)
        take_in_order(p, set);
    else
        take_in_turn(p, set);
}

/* Restricts the pick to the free cores of this set. */
static void
offer(struct grant_state *p, const struct bitset *cores)
{
    const struct topology_index *ti = p->o->topology_index;

    p->free = p->o->core_set;
    bitset_and(&p->free, cores);
    bitset_and_not(&p->free, &p->grant->cores);
    memset(p->group_free, 0, ti->n_groups * sizeof(*p->group_free));
    bitset_foreach(core, &p->free) p->group_free[ti->cores[core].group]++;
}

static unsigned
set_yield(const struct grant_state *p, uint64_t set)
{
    unsigned sum = 0;

    for (; set != 0; set &= set - 1)
        sum += numa_yield(p, (unsigned)__builtin_ctzll(set));
    return sum;
}

/* Gives a job threads of one kind if one kind has enough, the fastest such
 * kind; otherwise takes cores of all kinds, the fastest first.
 */
static void
take_by_kind(struct grant_state *p, uint64_t set)
{
    const struct topology_index *ti = p->o->topology_index;
    bool has_enough = false;

    set &= UINT64_MAX >> (64 - ti->n_numa);
    for (unsigned i = 0; i < ti->n_kinds && !has_enough; i++) {
        offer(p, &ti->kinds[i]);
        has_enough = set_yield(p, set) >= p->wanted;
        if (has_enough)
            take(p, set);
    }
    for (unsigned i = 0; i < ti->n_kinds && p->wanted > 0; i++) {
        offer(p, &ti->kinds[i]);
        take(p, set);
    }
}

/* For cores that differ, under a limit of cores per package: takes the cores
 * that yield most first, so that the limit suffices whenever it can.
 */
static void
take_largest(struct grant_state *p, uint64_t set)
{
    const struct topology_index *ti = p->o->topology_index;

    for (unsigned yield = ti->max_threads; yield > 0; yield--)
        for (unsigned core = 0; core < ti->n_cores && p->wanted > 0; core++)
            if (bitset_has(&p->free, core) && in_set(set, ti->cores[core].numa)
                && core_yield(p, core) == yield && group_left(p, ti->cores[core].group) > 0)
                take_core(p, core);
}

static void
begin_pick(struct grant_state *p)
{
    const struct occupancy *o = p->o;

    p->wanted = p->d->pus;
    p->free = o->core_set;
    p->grant->cores = p->grant->cpus = p->grant->withheld = (struct bitset){0};
    memcpy(p->group_free, o->group_free, o->topology_index->n_groups * sizeof(*p->group_free));
    for (unsigned i = 0; i < o->topology_index->n_packages; i++)
        p->package_left[i] =
            p->d->cores_per_package > 0 ? (uint16_t)p->d->cores_per_package : UINT16_MAX;
}

static void
grant_cores(const struct occupancy *o, const struct demand *d, uint64_t set, struct grant *grant)
{
    struct grant_state p = {.o = o, .d = d, .grant = grant};

    if (d->is_whole_node) {
        grant->cores = o->core_set;
        grant->cpus = o->topology_index->topology->pus;
        return;
    }
    begin_pick(&p);
    if (o->topology_index->n_kinds > 1)
        take_by_kind(&p, set);
    else
        take(&p, set);
    if (p.wanted > 0 && d->cores_per_package > 0) {
        begin_pick(&p);
        take_largest(&p, set);
    }
}

unsigned
grant_taken_pus(const struct occupancy *o, const struct demand *d, uint64_t set)
{
    CLEANUP_FREE struct grant *g = xnew(struct grant);

    grant_cores(o, d, set, g);
    return bitset_count(&g->cpus) + bitset_count(&g->withheld);
}

/* The NUMA nodes that the cores are on. */
static uint64_t
nodes_of_cores(const struct topology_index *ti, const struct bitset *cores)
{
    uint64_t nodes = 0;

    bitset_foreach(core, cores) nodes |= UINT64_C(1) << ti->cores[core].numa;
    return nodes;
}

static int64_t
free_memory(const struct occupancy *o, const struct grant *g, unsigned numa)
{
    int64_t left = o->numa[numa].free_memory - g->memory[numa];

    return left > 0 ? left : 0;
}

static int64_t
put_memory(const struct occupancy *o, struct grant *g, unsigned numa, int64_t bytes)
{
    int64_t left = free_memory(o, g, numa);

    if (bytes > left)
        bytes = left;
    g->memory[numa] += bytes;
    if (bytes > 0)
        g->memory_nodes |= UINT64_C(1) << numa;
    return bytes;
}

/* Places an even share on each of the nodes, and the rest on any of them with
 * room.
 */
static int64_t
share_memory(const struct occupancy *o, struct grant *g, uint64_t nodes, int64_t bytes)
{
    int64_t count = __builtin_popcountll(nodes), each;

    if (count == 0)
        return bytes;
    each = (bytes + count - 1) / count;
    for (unsigned i = 0; i < o->topology_index->n_numa; i++)
        if (in_set(nodes, i))
            bytes -= put_memory(o, g, i, each < bytes ? each : bytes);
    for (unsigned i = 0; i < o->topology_index->n_numa && bytes > 0; i++)
        if (in_set(nodes, i))
            bytes -= put_memory(o, g, i, bytes);
    return bytes;
}

/* The NUMA node with free memory that is closest to the set; 64: none. */
static unsigned
closest(const struct occupancy *o, const struct grant *g, uint64_t nodes)
{
    unsigned best = 64, best_distance = 0;

    for (unsigned i = 0; i < o->topology_index->n_numa; i++) {
        unsigned distance = 0;

        if (free_memory(o, g, i) == 0)
            continue;
        for (unsigned j = 0; j < o->topology_index->n_numa; j++)
            if (in_set(nodes, j))
                distance += topology_index_distance(o->topology_index, j, i);
        if (best == 64 || distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

static void
grant_memory(const struct occupancy *o, const struct demand *d, uint64_t set, struct grant *g)
{
    uint64_t beside = d->is_exclusive ? nodes_of_cores(o->topology_index, &g->cores) : set;
    int64_t bytes = d->memory_bytes;

    if (d->is_exclusive)
        g->memory_nodes = beside;
    if (bytes == 0)
        return;
    bytes = share_memory(o, g, beside, bytes);
    bytes = share_memory(o, g, set & ~beside, bytes);
    while (bytes > 0) {
        unsigned numa = closest(o, g, beside);

        if (numa == 64)
            return;
        bytes -= put_memory(o, g, numa, bytes);
    }
}

/* Places an even share of the huge pages of one size on each of the nodes, in
 * whole pages. The rest goes wherever pages are free: first on these nodes,
 * then on the others of the set, then anywhere.
 */
static void
grant_pages(const struct occupancy *o, unsigned page, int64_t bytes, uint64_t nodes, uint64_t set,
            struct grant *g)
{
    int64_t size = (int64_t)o->topology_index->page_bytes[page];
    int64_t count = __builtin_popcountll(nodes);
    int64_t each = count > 0 ? (bytes / size + count - 1) / count * size : 0;
    uint64_t sets[] = {nodes, nodes, set, UINT64_MAX};

    bytes = (bytes + size - 1) / size * size;
    for (unsigned round = 0; round < ARRAY_SIZE(sets); round++)
        for (unsigned i = 0; i < o->topology_index->n_numa; i++) {
            int64_t left = o->numa[i].free_huge[page] - g->huge[page][i];
            int64_t most = round == 0 && each < bytes ? each : bytes;
            int64_t some = most < left ? most : left;

            if (!in_set(sets[round], i) || some <= 0)
                continue;
            g->huge[page][i] += some;
            g->memory_nodes |= UINT64_C(1) << i;
            bytes -= some;
        }
}

static void
grant_hugepages(const struct occupancy *o, const struct demand *d, uint64_t set, struct grant *g)
{
    uint64_t nodes = g->memory_nodes != 0 ? g->memory_nodes & set : set;

    for (unsigned i = 0; i < d->n_hugepages; i++)
        grant_pages(o, topology_index_find_page(o->topology_index, d->hugepages[i].page_bytes),
                    d->hugepages[i].bytes, nodes, set, g);
}

static bool
take_device(const struct occupancy *o, struct grant *g, const struct demand_device *wanted,
            uint64_t set)
{
    const struct topology *t = o->topology_index->topology;

    for (unsigned i = 0; i < t->n_devices; i++)
        if (o->device_holders[i] == 0 && !bitset_has(&g->devices, i)
            && (t->devices[i].numa == TOPOLOGY_NONE || in_set(set, t->devices[i].numa))
            && topology_index_device_matches(o->topology_index, i, wanted->type, wanted->model)) {
            bitset_add(&g->devices, i);
            return true;
        }
    return false;
}

static void
grant_devices(const struct occupancy *o, const struct demand *d, uint64_t set, struct grant *g)
{
    uint64_t beside = nodes_of_cores(o->topology_index, &g->cores);

    for (unsigned i = 0; i < d->n_devices; i++)
        for (unsigned n = 0; n < d->devices[i].count; n++)
            if (!take_device(o, g, &d->devices[i], beside)
                && !take_device(o, g, &d->devices[i], set))
                take_device(o, g, &d->devices[i], UINT64_MAX);
}

enum allocator_answer
allocator_grant_choice(const struct occupancy *o, const struct demand *d,
                       const struct allocator_choice *choice, struct grant *ret_grant)
{
    if (d->rules != NULL && kubelet_grant_knows(d))
        return kubelet_grant(o, d, d->rules, ret_grant);
    memset(ret_grant, 0, sizeof(*ret_grant));
    ret_grant->is_shared = !d->is_exclusive;
    ret_grant->shared_milli = d->shared_milli;
    if (d->is_exclusive)
        grant_cores(o, d, choice->numa, ret_grant);
    grant_devices(o, d, choice->numa, ret_grant);
    grant_memory(o, d, choice->numa, ret_grant);
    grant_hugepages(o, d, choice->numa, ret_grant);
    return ALLOCATOR_FITS;
}

enum allocator_answer
allocator_grant(const struct occupancy *o, const struct demand *d, struct grant *ret_grant)
{
    struct allocator_choice choice;
    enum allocator_answer answer = allocator_choose(o, d, &choice);

    return answer == ALLOCATOR_FITS ? allocator_grant_choice(o, d, &choice, ret_grant) : answer;
}
