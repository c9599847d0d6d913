/* SPDX-License-Identifier: Apache-2.0 */
/* The free PUs of NUMA nodes are a set of steps in 64 bits and not a least and a most. A
 * bucket of many nodes nearly always contains an empty and a full NUMA node, so a range would
 * say that anything may fit, while the set still says which sizes exist. Steps are exact up to
 * 40 PUs, where most NUMA nodes are, and coarse beyond. A bound may be too good, never too
 * bad: a node that is skipped wrongly would change the decision.
 */
#include "controller/scheduler/framework/bounds.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"

#define FINE_STEPS 40u
#define COARSE     8u /* PUs in a step beyond FINE_STEPS */
#define STEPS      64u

static uint32_t
step_of(uint32_t pus)
{
    uint32_t step;

    if (pus < FINE_STEPS)
        return pus;
    step = FINE_STEPS + (pus - FINE_STEPS) / COARSE;
    return step < STEPS ? step : STEPS - 1;
}

uint32_t
bounds_step_least(uint32_t step)
{
    return step < FINE_STEPS ? step : FINE_STEPS + (step - FINE_STEPS) * COARSE;
}

uint32_t
bounds_find_step(uint64_t numa_free, uint32_t pus)
{
    uint64_t from = numa_free >> step_of(pus);

    return from != 0 ? step_of(pus) + (uint32_t)__builtin_ctzll(from) : BOUNDS_NO_STEP;
}

uint32_t
bounds_most_in_numa(uint64_t numa_free)
{
    uint32_t step;

    if (numa_free == 0)
        return 0;
    step = 63 - (uint32_t)__builtin_clzll(numa_free);
    if (step < FINE_STEPS)
        return step;
    return step == STEPS - 1 ? UINT32_MAX : bounds_step_least(step) + COARSE - 1;
}

static struct range
range_of(int64_t value)
{
    return (struct range){value, value};
}

static void
read_occupancy(struct bounds *b, const struct occupancy *o)
{
    const struct topology_index *ti = o->topology_index;

    b->least_free_pus = b->most_free_pus = o->free_pus;
    b->most_pus = ti->n_pus;
    b->most_free_memory = o->free_memory;
    for (unsigned i = 0; i < ti->n_numa; i++) {
        b->numa_free |= UINT64_C(1) << step_of(o->numa[i].free_pus);
        if (o->numa[i].free_memory > b->most_numa_memory)
            b->most_numa_memory = o->numa[i].free_memory;
    }
    for (unsigned i = 0; i < ti->topology->n_devices; i++)
        b->most_free_devices += o->device_holders[i] == 0;
}

void
bounds_init(struct bounds *b, const struct node_view *node)
{
    *b = (struct bounds){
        .cpu_milli = range_of(node->allocatable.cpu_milli),
        .memory_bytes = range_of(node->allocatable.memory_bytes),
        .cpu_used = range_of(node->ledger.requested.cpu_milli),
        .memory_used = range_of(node->ledger.requested.memory_bytes),
        .nonzero_cpu = range_of(node->ledger.nonzero_cpu_milli),
        .nonzero_memory = range_of(node->ledger.nonzero_memory_bytes),
        .most_place = node->place,
        .most_soft_taints = node->n_soft_taints,
        .has_bare = node->ledger.occupancy == NULL,
    };
    if (node->ledger.occupancy != NULL)
        read_occupancy(b, node->ledger.occupancy);
}

static void
widen(struct range *r, const struct range *other)
{
    if (other->least < r->least)
        r->least = other->least;
    if (other->most > r->most)
        r->most = other->most;
}

#define RAISE(to, from)    \
    do                     \
        if ((from) > (to)) \
            (to) = (from); \
    while (0)

void
bounds_add(struct bounds *b, const struct bounds *other)
{
    widen(&b->cpu_milli, &other->cpu_milli);
    widen(&b->memory_bytes, &other->memory_bytes);
    widen(&b->cpu_used, &other->cpu_used);
    widen(&b->memory_used, &other->memory_used);
    widen(&b->nonzero_cpu, &other->nonzero_cpu);
    widen(&b->nonzero_memory, &other->nonzero_memory);
    RAISE(b->most_place, other->most_place);
    RAISE(b->most_soft_taints, other->most_soft_taints);
    b->has_bare |= other->has_bare;
    if (other->least_free_pus < b->least_free_pus)
        b->least_free_pus = other->least_free_pus;
    RAISE(b->most_free_pus, other->most_free_pus);
    RAISE(b->most_pus, other->most_pus);
    b->numa_free |= other->numa_free;
    RAISE(b->most_free_memory, other->most_free_memory);
    RAISE(b->most_numa_memory, other->most_numa_memory);
    RAISE(b->most_free_devices, other->most_free_devices);
}
