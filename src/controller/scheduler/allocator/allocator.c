/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/allocator/allocator.h"

#include <string.h>

#include "controller/scheduler/allocator/demand.h"
#include "controller/scheduler/allocator/occupancy.h"
#include "controller/scheduler/allocator/silicon.h"

/* How many sets of NUMA nodes are looked at before the best so far is taken:
 * all pairs of 64, all sets of up to 4 of 16.
 */
#define SEARCH_LIMIT 4000u

/* PUs that a demand for so many threads of each core can use here. */
static unsigned
usable_pus(const struct occupancy *o, unsigned numa, unsigned threads)
{
    const struct silicon *s = o->silicon;
    unsigned usable = 0;

    if (threads == 0 || threads >= s->max_threads)
        return o->numa[numa].free_pus;
    if (threads == 1)
        return o->numa[numa].free_cores;
    if (s->is_uniform)
        return o->numa[numa].free_cores * threads;
    bitset_foreach(core, &o->core_set)
    {
        unsigned n = s->cores[core].n_pus;

        if (s->cores[core].numa == numa)
            usable += n < threads ? n : threads;
    }
    return usable;
}

static unsigned
free_devices(const struct occupancy *o, const char *type, uint64_t numa)
{
    const struct topology *t = o->silicon->topology;
    unsigned n = 0;

    for (unsigned i = 0; i < t->n_devices; i++)
        if (o->device_holders[i] == 0 && strcmp(t->devices[i].type, type) == 0
            && (t->devices[i].numa == TOPOLOGY_NONE
                || (numa >> t->devices[i].numa & 1) != 0))
            n++;
    return n;
}

static bool
has_devices(const struct occupancy *o, const struct demand *d, uint64_t numa)
{
    for (unsigned i = 0; i < d->n_devices; i++)
        if (free_devices(o, d->devices[i].type, numa) < d->devices[i].count)
            return false;
    return true;
}

/* The search for the best set of NUMA nodes of one width. */
struct search {
    const struct occupancy *o;
    const struct demand *d;
    unsigned width;
    unsigned pus[64];
    int64_t memory[64];
    unsigned most_pus;
    int64_t most_memory;
    unsigned visits;
    bool has_found;
    uint64_t best;
    unsigned best_distance; /* sum over pairs */
    unsigned best_left;
};

static void
search_init(struct search *s, const struct occupancy *o, const struct demand *d)
{
    unsigned n = o->silicon->n_numa;

    *s = (struct search){.o = o, .d = d};
    for (unsigned i = 0; i < n; i++) {
        s->pus[i] = d->pus > 0 ? usable_pus(o, i, d->threads_per_core) : 0;
        s->memory[i] = o->numa[i].free_memory > 0 ? o->numa[i].free_memory : 0;
        if (s->pus[i] > s->most_pus)
            s->most_pus = s->pus[i];
        if (s->memory[i] > s->most_memory)
            s->most_memory = s->memory[i];
    }
}

static void
weigh(struct search *s, uint64_t set, unsigned pus, unsigned distance)
{
    unsigned left = pus - s->d->pus;

    if (s->d->n_devices > 0 && !has_devices(s->o, s->d, set))
        return;
    if (s->has_found
        && (distance > s->best_distance
            || (distance == s->best_distance && left >= s->best_left)))
        return;
    s->has_found = true;
    s->best = set;
    s->best_distance = distance;
    s->best_left = left;
}

static void
extend(struct search *s,
       unsigned from,
       unsigned depth,
       uint64_t set,
       unsigned pus,
       int64_t memory,
       unsigned distance)
{
    unsigned more = s->width - depth;

    if (pus + more * s->most_pus < s->d->pus
        || memory + (int64_t)more * s->most_memory < s->d->memory_bytes)
        return;
    if (more == 0) {
        s->visits++;
        weigh(s, set, pus, distance);
        return;
    }
    for (unsigned i = from; i + more <= s->o->silicon->n_numa; i++) {
        unsigned apart = distance;

        if (s->visits > SEARCH_LIMIT)
            return;
        if (s->pus[i] == 0 && s->memory[i] == 0)
            continue;
        for (unsigned j = 0; j < i; j++)
            if ((set >> j & 1) != 0)
                apart += silicon_distance(s->o->silicon, j, i);
        extend(s,
               i + 1,
               depth + 1,
               set | UINT64_C(1) << i,
               pus + s->pus[i],
               memory + s->memory[i],
               apart);
    }
}

static bool
search_width(struct search *s, unsigned width)
{
    s->width = width;
    s->visits = 0;
    s->has_found = false;
    extend(s, 0, 0, 0, 0, 0, 0);
    return s->has_found;
}

/* The width that the demand would have on this machine when it is empty; more
 * than there are NUMA nodes when it never fits.
 */
static unsigned
empty_width(const struct silicon *s, const struct demand *d)
{
    unsigned threads = d->threads_per_core;
    uint64_t by_pus = 0, by_memory = 0;
    unsigned pus = 0, width = 0;
    int64_t memory = 0;

    while (pus < d->pus || memory < d->memory_bytes) {
        unsigned most_pus = 0, at_pus = 0, at_memory = 0;
        uint64_t most_memory = 0;

        if (width++ == s->n_numa)
            return width;
        for (unsigned i = 0; i < s->n_numa; i++) {
            unsigned n = threads == 0 || threads >= s->max_threads
                             ? s->numa[i].n_pus
                             : s->numa[i].n_cores * threads;
            uint64_t bytes = s->topology->numa[i].memory_bytes;

            if ((by_pus >> i & 1) == 0 && n >= most_pus) {
                most_pus = n;
                at_pus = i;
            }
            if ((by_memory >> i & 1) == 0 && bytes >= most_memory) {
                most_memory = bytes;
                at_memory = i;
            }
        }
        by_pus |= UINT64_C(1) << at_pus;
        by_memory |= UINT64_C(1) << at_memory;
        pus += most_pus;
        memory += (int64_t)most_memory;
    }
    return width > 0 ? width : 1;
}

/* PUs that go out of the shared pool, withheld ones too: exact where all cores
 * are alike, otherwise the most that it can be, which is one core too many.
 */
static unsigned
taken_pus(const struct silicon *s, const struct demand *d)
{
    unsigned threads = d->threads_per_core;

    if (threads == 0 || threads > s->max_threads)
        threads = s->max_threads;
    if (threads == 0)
        return d->pus;
    if (s->is_uniform)
        return (d->pus + threads - 1) / threads * s->max_threads;
    return (d->pus * s->max_threads + threads - 1) / threads + s->max_threads
           - 1;
}

static unsigned
total_usable(const struct occupancy *o, const struct demand *d)
{
    unsigned usable = 0;

    for (unsigned i = 0; i < o->silicon->n_numa; i++)
        usable += usable_pus(o, i, d->threads_per_core);
    return usable;
}

static bool
leaves_shared_pool(const struct occupancy *o, unsigned taken)
{
    unsigned left;

    if (o->n_shared == 0)
        return true;
    left = o->free_pus > taken ? o->free_pus - taken : 0;
    return (left > 0 && (int64_t)left * 1000 >= o->shared_milli);
}

/* What no choice of NUMA nodes can change. */
static enum allocator_answer
check_totals(const struct occupancy *o, const struct demand *d)
{
    const struct silicon *s = o->silicon;

    if (d->pus > s->n_pus || d->memory_bytes > (int64_t)s->memory_bytes)
        return ALLOCATOR_TOO_SMALL;
    if (d->is_whole_node && (o->free_cores < s->n_cores || o->n_shared > 0))
        return ALLOCATOR_NOT_EMPTY;
    if (d->is_exclusive) {
        if (total_usable(o, d) < d->pus
            || !leaves_shared_pool(o, taken_pus(s, d)))
            return ALLOCATOR_NO_CORES;
    } else if (o->free_pus == 0
               || o->shared_milli + d->shared_milli
                      > (int64_t)o->free_pus * 1000) {
        return ALLOCATOR_NO_SHARED;
    }
    if (d->memory_bytes > o->free_memory)
        return ALLOCATOR_NO_MEMORY;
    if (d->n_devices > 0 && !has_devices(o, d, UINT64_MAX))
        return ALLOCATOR_NO_DEVICES;
    return ALLOCATOR_FITS;
}

static enum allocator_answer
settle(const struct search *s, struct allocator_choice *ret_choice)
{
    unsigned pairs = s->width * (s->width - 1) / 2;

    *ret_choice = (struct allocator_choice){
        .numa = s->best,
        .width = s->width,
        .distance = pairs > 0 ? s->best_distance / pairs : 10,
        .left_pus = s->best_left,
    };
    return ALLOCATOR_FITS;
}

/* Over all NUMA nodes that have something free. */
static enum allocator_answer
settle_on_all(const struct search *s, struct allocator_choice *ret_choice)
{
    struct allocator_choice all = {.distance = 20};

    for (unsigned i = 0; i < s->o->silicon->n_numa; i++) {
        if (s->pus[i] == 0 && s->memory[i] == 0)
            continue;
        all.numa |= UINT64_C(1) << i;
        all.width++;
        all.left_pus += s->pus[i];
    }
    all.left_pus -= s->d->pus;
    *ret_choice = all;
    return ALLOCATOR_FITS;
}

enum allocator_answer
allocator_choose(const struct occupancy *o,
                 const struct demand *d,
                 struct allocator_choice *ret_choice)
{
    enum allocator_answer answer = check_totals(o, d);
    unsigned n = o->silicon->n_numa, first = 1, last = n;
    struct search s;

    if (answer != ALLOCATOR_FITS)
        return answer;
    search_init(&s, o, d);
    if (d->numa_policy == NUMA_SINGLE || d->numa_policy == NUMA_RESTRICTED) {
        first = empty_width(o->silicon, d);
        last = d->numa_policy == NUMA_SINGLE ? 1 : first;
        if (first > last || last > n)
            return ALLOCATOR_TOO_SMALL;
    } else if (d->is_whole_node || d->distribution != DISTRIBUTION_PACK) {
        return settle_on_all(&s, ret_choice);
    }
    for (unsigned width = first; width <= last; width++)
        if (search_width(&s, width))
            return settle(&s, ret_choice);
    if (d->numa_policy == NUMA_SINGLE || d->numa_policy == NUMA_RESTRICTED)
        return ALLOCATOR_NOT_ALIGNED;
    return settle_on_all(&s, ret_choice);
}
