/* SPDX-License-Identifier: Apache-2.0 */
/* How a choice of NUMA nodes becomes exact cores, bytes and devices. */
#include <string.h>

#include "controller/scheduler/allocator/allocator.h"
#include "controller/scheduler/allocator/demand.h"
#include "controller/scheduler/allocator/holding.h"
#include "controller/scheduler/allocator/occupancy.h"
#include "controller/scheduler/allocator/silicon.h"
#include "lib/api/cpuset.h"
#include "lib/api/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The cores still to be had while a grant is made. */
struct pick {
    const struct occupancy *o;
    const struct demand *d;
    struct grant *grant;
    struct bitset free; /* cores */
    uint16_t group_free[BITSET_BITS];
    unsigned wanted; /* PUs */
};

static bool
in_set(uint64_t set, unsigned numa)
{
    return (set >> numa & 1) != 0;
}

/* Takes the core: as many of its threads as the demand may use and still
 * wants; the others are withheld.
 */
static void
take_core(struct pick *p, unsigned core)
{
    const struct silicon *s = p->o->silicon;
    unsigned threads = p->d->threads_per_core, used = 0;

    bitset_remove(&p->free, core);
    p->group_free[s->cores[core].group]--;
    bitset_add(&p->grant->cores, core);
    bitset_foreach(pu, &s->topology->cores[core].pus)
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
core_yield(const struct pick *p, unsigned core)
{
    unsigned n = p->o->silicon->cores[core].n_pus;
    unsigned threads = p->d->threads_per_core;

    return threads > 0 && threads < n ? threads : n;
}

static unsigned
group_yield(const struct pick *p, unsigned group)
{
    const struct silicon *s = p->o->silicon;
    unsigned threads = p->d->threads_per_core, sum = 0;

    if (threads == 1)
        return p->group_free[group];
    if (s->is_uniform)
        return p->group_free[group]
               * (threads > 0 && threads < s->max_threads ? threads
                                                          : s->max_threads);
    bitset_foreach(core,
                   &s->groups[group].cores) if (bitset_has(&p->free, core))
        sum += core_yield(p, core);
    return sum;
}

/* The group to go on with: of those that hold all that is wanted the tightest,
 * otherwise the largest; among equals the fullest of what others hold.
 */
static unsigned
best_group(const struct pick *p, unsigned numa, unsigned wanted)
{
    const struct silicon_numa *n = &p->o->silicon->numa[numa];
    unsigned best = UINT16_MAX, best_yield = 0;

    for (unsigned i = 0; i < n->n_groups; i++) {
        unsigned group = n->first_group + i;
        unsigned yield = group_yield(p, group);
        bool holds = yield >= wanted, best_holds = best_yield >= wanted;

        if (yield == 0)
            continue;
        if (best == UINT16_MAX || (holds && !best_holds)
            || (holds && yield < best_yield)
            || (!holds && !best_holds && yield > best_yield)) {
            best = group;
            best_yield = yield;
        }
    }
    return best;
}

static unsigned
first_free_core(const struct pick *p, unsigned group)
{
    const struct bitset *cores = &p->o->silicon->groups[group].cores;

    bitset_foreach(core, cores) if (bitset_has(&p->free, core)) return core;
    return BITSET_BITS;
}

/* Packed: group by group. Returns what could not be had. */
static unsigned
take_packed(struct pick *p, unsigned numa, unsigned pus)
{
    while (pus > 0) {
        unsigned group = best_group(p, numa, pus);

        if (group == UINT16_MAX)
            return pus;
        while (pus > 0 && p->group_free[group] > 0) {
            unsigned core = first_free_core(p, group);
            unsigned yield = core_yield(p, core);

            take_core(p, core);
            pus -= yield < pus ? yield : pus;
        }
    }
    return 0;
}

/* One core from the group of the NUMA node with most left (scatter), or the
 * lowest core (cyclic). False: none is left.
 */
static bool
take_one(struct pick *p, unsigned numa)
{
    const struct silicon_numa *n = &p->o->silicon->numa[numa];
    unsigned best = UINT16_MAX;

    for (unsigned i = 0; i < n->n_groups; i++) {
        unsigned group = n->first_group + i;

        if (p->group_free[group] == 0)
            continue;
        if (best == UINT16_MAX
            || (p->d->distribution == DISTRIBUTION_SCATTER
                && p->group_free[group] > p->group_free[best]))
            best = group;
    }
    if (best == UINT16_MAX)
        return false;
    take_core(p, first_free_core(p, best));
    return true;
}

static void
take_in_turn(struct pick *p, uint64_t set)
{
    bool any = true;

    while (p->wanted > 0 && any) {
        any = false;
        for (unsigned i = 0; i < p->o->silicon->n_numa && p->wanted > 0; i++)
            if (in_set(set, i) && take_one(p, i))
                any = true;
    }
}

static unsigned
numa_yield(const struct pick *p, unsigned numa)
{
    const struct silicon_numa *n = &p->o->silicon->numa[numa];
    unsigned sum = 0;

    for (unsigned i = 0; i < n->n_groups; i++)
        sum += group_yield(p, n->first_group + i);
    return sum;
}

/* NUMA nodes from the one with least free to the one with most, so that what
 * stays free stays together.
 */
static void
take_in_order(struct pick *p, uint64_t set)
{
    while (p->wanted > 0 && set != 0) {
        unsigned next = 64, least = 0;

        for (unsigned i = 0; i < p->o->silicon->n_numa; i++) {
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
grant_cores(const struct occupancy *o,
            const struct demand *d,
            uint64_t set,
            struct grant *grant)
{
    struct pick p = {.o = o,
                     .d = d,
                     .grant = grant,
                     .free = o->core_set,
                     .wanted = d->pus};

    memcpy(p.group_free,
           o->group_free,
           o->silicon->n_groups * sizeof(*p.group_free));
    if (d->is_whole_node) {
        grant->cores = o->core_set;
        grant->cpus = o->silicon->topology->pus;
    } else if (d->distribution == DISTRIBUTION_PACK) {
        take_in_order(&p, set);
    } else {
        take_in_turn(&p, set);
    }
}

/* The NUMA nodes that the cores are on. */
static uint64_t
nodes_of_cores(const struct silicon *s, const struct bitset *cores)
{
    uint64_t nodes = 0;

    bitset_foreach(core, cores) nodes |= UINT64_C(1) << s->cores[core].numa;
    return nodes;
}

static int64_t
free_memory(const struct occupancy *o, const struct grant *g, unsigned numa)
{
    int64_t left = o->numa[numa].free_memory - g->memory[numa];

    return left > 0 ? left : 0;
}

static int64_t
put_memory(const struct occupancy *o,
           struct grant *g,
           unsigned numa,
           int64_t bytes)
{
    int64_t left = free_memory(o, g, numa);

    if (bytes > left)
        bytes = left;
    g->memory[numa] += bytes;
    if (bytes > 0)
        g->memory_nodes |= UINT64_C(1) << numa;
    return bytes;
}

/* An even share for each of the nodes, then wherever there is room. */
static int64_t
share_memory(const struct occupancy *o,
             struct grant *g,
             uint64_t nodes,
             int64_t bytes)
{
    int64_t count = __builtin_popcountll(nodes), each;

    if (count == 0)
        return bytes;
    each = (bytes + count - 1) / count;
    for (unsigned i = 0; i < o->silicon->n_numa; i++)
        if (in_set(nodes, i))
            bytes -= put_memory(o, g, i, each < bytes ? each : bytes);
    for (unsigned i = 0; i < o->silicon->n_numa && bytes > 0; i++)
        if (in_set(nodes, i))
            bytes -= put_memory(o, g, i, bytes);
    return bytes;
}

/* The closest of the others that has room, or 64. */
static unsigned
closest(const struct occupancy *o, const struct grant *g, uint64_t nodes)
{
    unsigned best = 64, best_distance = 0;

    for (unsigned i = 0; i < o->silicon->n_numa; i++) {
        unsigned distance = 0;

        if (free_memory(o, g, i) == 0)
            continue;
        for (unsigned j = 0; j < o->silicon->n_numa; j++)
            if (in_set(nodes, j))
                distance += silicon_distance(o->silicon, j, i);
        if (best == 64 || distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

static void
grant_memory(const struct occupancy *o,
             const struct demand *d,
             uint64_t set,
             struct grant *g)
{
    uint64_t beside =
        d->is_exclusive ? nodes_of_cores(o->silicon, &g->cores) : set;
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

static bool
take_device(const struct occupancy *o,
            struct grant *g,
            const char *type,
            uint64_t set)
{
    const struct topology *t = o->silicon->topology;

    for (unsigned i = 0; i < t->n_devices; i++)
        if (o->device_holders[i] == 0 && !bitset_has(&g->devices, i)
            && strcmp(t->devices[i].type, type) == 0
            && (t->devices[i].numa == TOPOLOGY_NONE
                || in_set(set, t->devices[i].numa))) {
            bitset_add(&g->devices, i);
            return true;
        }
    return false;
}

static void
grant_devices(const struct occupancy *o,
              const struct demand *d,
              uint64_t set,
              struct grant *g)
{
    for (unsigned i = 0; i < d->n_devices; i++)
        for (unsigned n = 0; n < d->devices[i].count; n++)
            if (!take_device(o, g, d->devices[i].type, set))
                take_device(o, g, d->devices[i].type, UINT64_MAX);
}

enum allocator_answer
allocator_grant(const struct occupancy *o,
                const struct demand *d,
                struct grant *ret_grant)
{
    struct allocator_choice choice;
    enum allocator_answer answer = allocator_choose(o, d, &choice);

    if (answer != ALLOCATOR_FITS)
        return answer;
    memset(ret_grant, 0, sizeof(*ret_grant));
    ret_grant->is_shared = !d->is_exclusive;
    ret_grant->shared_milli = d->shared_milli;
    if (d->is_exclusive)
        grant_cores(o, d, choice.numa, ret_grant);
    grant_devices(o, d, choice.numa, ret_grant);
    grant_memory(o, d, choice.numa, ret_grant);
    return ALLOCATOR_FITS;
}

struct holding *
grant_holding(const struct grant *grant, const struct silicon *silicon)
{
    unsigned n_memory = 0, c = 0, d = 0, m = 0;
    struct holding *h;

    for (unsigned i = 0; i < silicon->n_numa; i++)
        n_memory += grant->memory[i] > 0;
    h = holding_new(bitset_count(&grant->cores),
                    bitset_count(&grant->devices),
                    n_memory);
    h->shared_milli = grant->shared_milli;
    h->is_shared = grant->is_shared;
    h->charged_milli = 1000
                       * (int64_t)(bitset_count(&grant->cpus)
                                   + bitset_count(&grant->withheld));
    bitset_foreach(core, &grant->cores) h->cores[c++] = (uint16_t)core;
    bitset_foreach(device, &grant->devices) h->devices[d++] = (uint16_t)device;
    for (unsigned i = 0; i < silicon->n_numa; i++)
        if (grant->memory[i] > 0)
            h->memory[m++] = (struct holding_memory){.numa = (uint16_t)i,
                                                     .bytes = grant->memory[i]};
    return h;
}

static void
set_list(struct arena *arena,
         struct json *object,
         const char *name,
         const struct bitset *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (bitset_is_empty(set))
        return;
    cpuset_format(set, &text);
    json_set_string(arena, object, name, text.text);
}

static void
set_memory(struct arena *arena,
           struct json *object,
           const struct grant *g,
           const struct silicon *s)
{
    struct json *list = json_array(arena);
    struct bitset nodes = {0};

    for (unsigned i = 0; i < s->n_numa; i++) {
        unsigned node = s->topology->numa[i].os_index;
        struct quantity q = quantity_of(g->memory[i], QUANTITY_BINARY_SI);
        char bytes[QUANTITY_TEXT_SIZE];
        struct json *entry;

        if (in_set(g->memory_nodes, i))
            bitset_add(&nodes, node);
        if (g->memory[i] == 0)
            continue;
        quantity_format(&q, bytes);
        entry = json_object(arena);
        json_set_int(arena, entry, "node", node);
        json_set_string(arena, entry, "bytes", bytes);
        json_append(arena, list, entry);
    }
    set_list(arena, object, "memoryNodes", &nodes);
    if (json_count(list) > 0)
        json_set(arena, object, "memory", list);
}

struct json *
grant_encode(const struct grant *grant,
             const struct silicon *silicon,
             struct arena *arena)
{
    struct json *object = json_object(arena);
    struct json *devices = json_array(arena);

    set_list(arena, object, "cpus", &grant->cpus);
    set_list(arena, object, "withheld", &grant->withheld);
    bitset_foreach(device, &grant->devices) json_append(
        arena,
        devices,
        json_string(arena, silicon->topology->devices[device].name));
    if (json_count(devices) > 0)
        json_set(arena, object, "devices", devices);
    set_memory(arena, object, grant, silicon);
    if (grant->is_shared) {
        struct quantity q = {
            .nano = (__int128)grant->shared_milli * 1000000,
            .format = QUANTITY_DECIMAL_SI,
        };
        char cpu[QUANTITY_TEXT_SIZE];

        quantity_format(&q, cpu);
        json_set_string(arena, object, "sharedCpu", cpu);
    }
    return object;
}
