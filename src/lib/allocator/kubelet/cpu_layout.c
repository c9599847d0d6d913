/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/cpu_layout.h"

#include <string.h>

#include "lib/base/alloc.h"

static unsigned
place_of(const struct cpu_units *u, uint16_t id)
{
    unsigned i = 0;

    while (i < u->count && u->ids[i] != id)
        i++;
    return i;
}

/* Collects the ids of the level's units in ascending order, each once. */
static void
collect_ids(struct cpu_units *u, const struct cpu_location *seats, unsigned count,
            enum cpu_level level)
{
    struct bitset ids = {0};

    for (unsigned i = 0; i < count; i++)
        bitset_add(&ids, seats[i].unit[level]);
    u->ids = xnew_array(uint16_t, bitset_count(&ids) + 1);
    u->cpus = xnew_array(struct bitset, bitset_count(&ids) + 1);
    bitset_foreach(id, &ids) u->ids[u->count++] = (uint16_t)id;
}

struct cpu_layout *
cpu_layout_new(const struct cpu_location *seats, unsigned count, unsigned n_sockets)
{
    struct cpu_layout *l = xnew(struct cpu_layout);

    l->n_cpus = count;
    for (unsigned i = 0; i < count; i++)
        bitset_add(&l->cpus, seats[i].cpu);
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        struct cpu_units *u = &l->levels[level];

        collect_ids(u, seats, count, (enum cpu_level)level);
        l->place[level] = xnew_array(uint16_t, BITSET_BITS);
        for (unsigned i = 0; i < count; i++) {
            unsigned place = place_of(u, seats[i].unit[level]);

            bitset_add(&u->cpus[place], seats[i].cpu);
            l->place[level][seats[i].cpu] = (uint16_t)place;
        }
    }
    l->n_sockets = l->levels[LEVEL_SOCKET].count;
    if (n_sockets > l->n_sockets)
        l->n_sockets = n_sockets;
    return l;
}

void
cpu_layout_free(struct cpu_layout *l)
{
    if (l == NULL)
        return;
    for (unsigned level = 0; level < LEVEL_COUNT; level++) {
        free(l->levels[level].ids);
        free(l->levels[level].cpus);
        free(l->place[level]);
    }
    free(l);
}

unsigned
cpu_layout_per(const struct cpu_layout *l, enum cpu_level level)
{
    unsigned units = level == LEVEL_SOCKET ? l->n_sockets : l->levels[level].count;
    unsigned per = units > 0 ? l->n_cpus / units : 0;

    return per > 0 ? per : 1;
}

void
cpu_layout_of_nodes(const struct cpu_layout *l, uint64_t nodes, struct bitset *ret_cpus)
{
    const struct cpu_units *u = &l->levels[LEVEL_NUMA];

    memset(ret_cpus, 0, sizeof(*ret_cpus));
    for (unsigned i = 0; i < u->count; i++)
        if (u->ids[i] < 64 && (nodes >> u->ids[i] & 1) != 0)
            bitset_or(ret_cpus, &u->cpus[i]);
}

void
cpu_layout_widen(const struct cpu_layout *l, enum cpu_level level, const struct bitset *cpus,
                 struct bitset *ret_cpus)
{
    const struct cpu_units *u = &l->levels[level];
    struct bitset wide = {0};

    for (unsigned i = 0; i < u->count; i++)
        if (bitset_intersects(&u->cpus[i], cpus))
            bitset_or(&wide, &u->cpus[i]);
    *ret_cpus = wide;
}

unsigned
cpu_layout_count_units(const struct cpu_layout *l, enum cpu_level level, const struct bitset *cpus)
{
    const struct cpu_units *u = &l->levels[level];
    unsigned n = 0;

    for (unsigned i = 0; i < u->count; i++)
        n += bitset_intersects(&u->cpus[i], cpus);
    return n;
}
