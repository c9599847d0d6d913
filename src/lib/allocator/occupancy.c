/* SPDX-License-Identifier: Apache-2.0 */
/* Taking and releasing undo each other exactly, because what-if questions do both on the real
 * occupancy (decision 115). The groups of NUMA nodes that hold one pod's memory are the
 * exception: which group existed first matters, so the ledger saves them.
 *
 * Memory may be negative, when a node came back with less than its pods hold. Such a NUMA node
 * counts as full and not as a debt of the others.
 */
#include "lib/allocator/occupancy.h"

#include <string.h>

#include "lib/allocator/holding.h"
#include "lib/base/alloc.h"

/* One allocation: the arrays follow the struct, those with the widest elements
 * first.
 */
static void
place_arrays(struct occupancy *o, const struct topology_index *ti)
{
    o->numa = (struct occupancy_numa *)(o + 1);
    o->group_free = (uint16_t *)(o->numa + ti->n_numa);
    o->core_holders = (uint8_t *)(o->group_free + ti->n_groups);
    o->device_holders = o->core_holders + ti->n_cores;
}

struct occupancy *
occupancy_new(struct topology_index *topology_index)
{
    const struct topology_index *ti = topology_index;
    size_t size = sizeof(struct occupancy) + ti->n_numa * sizeof(struct occupancy_numa)
                  + ti->n_groups * sizeof(uint16_t) + ti->n_cores + ti->topology->n_devices;
    struct occupancy *o = xcalloc(1, size);

    o->topology_index = topology_index_ref(topology_index);
    place_arrays(o, ti);
    o->free_cores = ti->n_cores;
    o->free_pus = ti->n_pus;
    o->free_memory = (int64_t)ti->memory_bytes;
    for (unsigned i = 0; i < ti->n_numa; i++) {
        o->numa[i] = (struct occupancy_numa){
            .free_cores = ti->numa[i].n_cores,
            .free_pus = ti->numa[i].n_pus,
            .free_memory = (int64_t)ti->topology->numa[i].memory_bytes,
        };
        memcpy(o->numa[i].free_huge, ti->numa[i].huge_bytes, sizeof(o->numa[i].free_huge));
    }
    for (unsigned g = 0; g < ti->n_groups; g++)
        o->group_free[g] = ti->groups[g].n_cores;
    for (unsigned core = 0; core < ti->n_cores; core++)
        bitset_add(&o->core_set, core);
    return o;
}

void
occupancy_free(struct occupancy *o)
{
    if (o == NULL)
        return;
    topology_index_unref(o->topology_index);
    free(o);
}

static void
count_core(struct occupancy *o, unsigned core, bool is_free)
{
    const struct topology_index_core *c = &o->topology_index->cores[core];
    struct occupancy_numa *numa = &o->numa[c->numa];

    if (is_free) {
        bitset_add(&o->core_set, core);
        o->free_cores++;
        o->free_pus += c->n_pus;
        numa->free_cores++;
        numa->free_pus += c->n_pus;
        o->group_free[c->group]++;
    } else {
        bitset_remove(&o->core_set, core);
        o->free_cores--;
        o->free_pus -= c->n_pus;
        numa->free_cores--;
        numa->free_pus -= c->n_pus;
        o->group_free[c->group]--;
    }
}

/* A NUMA node with negative free memory counts as 0 in the total, because other
 * NUMA nodes cannot make up for it.
 */
static void
count_memory(struct occupancy *o, const struct holding_memory *m, int64_t bytes)
{
    struct occupancy_numa *numa = &o->numa[m->numa];
    int64_t before = numa->free_memory;
    int64_t after = before + bytes;

    if (m->page != HOLDING_PLAIN) {
        numa->free_huge[m->page] += bytes;
        return;
    }
    numa->free_memory = after;
    o->free_memory += (after > 0 ? after : 0) - (before > 0 ? before : 0);
}

/* NUMA nodes on which one holding has memory form a group, as long as any such
 * holding exists.
 */
static void
count_blocks(struct occupancy *o, const struct holding *h, bool is_taken)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < h->n_memory; i++)
        all |= UINT64_C(1) << h->memory[i].numa;
    for (uint64_t rest = all; rest != 0; rest &= rest - 1) {
        struct occupancy_numa *n = &o->numa[__builtin_ctzll(rest)];

        if (is_taken) {
            n->blocks++;
            n->group |= all;
        } else if (--n->blocks == 0) {
            n->group = 0;
        }
    }
}

void
occupancy_take(struct occupancy *o, const struct holding *holding)
{
    o->version++;
    for (unsigned i = 0; i < holding->n_cores; i++)
        if (o->core_holders[holding->cores[i]]++ == 0)
            count_core(o, holding->cores[i], false);
    for (unsigned i = 0; i < holding->n_devices; i++)
        o->device_holders[holding->devices[i]]++;
    for (unsigned i = 0; i < holding->n_memory; i++)
        count_memory(o, &holding->memory[i], -holding->memory[i].bytes);
    count_blocks(o, holding, true);
    o->shared_milli += holding->shared_milli;
    o->n_shared += holding->is_shared;
}

void
occupancy_release(struct occupancy *o, const struct holding *holding)
{
    o->version++;
    for (unsigned i = 0; i < holding->n_cores; i++)
        if (--o->core_holders[holding->cores[i]] == 0)
            count_core(o, holding->cores[i], true);
    for (unsigned i = 0; i < holding->n_devices; i++)
        o->device_holders[holding->devices[i]]--;
    for (unsigned i = 0; i < holding->n_memory; i++)
        count_memory(o, &holding->memory[i], holding->memory[i].bytes);
    count_blocks(o, holding, false);
    o->shared_milli -= holding->shared_milli;
    o->n_shared -= holding->is_shared;
}
