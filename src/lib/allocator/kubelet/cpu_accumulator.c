/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/cpu_accumulator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/allocator/kubelet/cpu_layout.h"
#include "lib/allocator/kubelet/cpu_share.h"
#include "lib/base/macro.h"

/* Units by their place, in the order in which they are tried. */
struct cpu_order {
    unsigned count;
    uint16_t units[BITSET_BITS];
};

struct take {
    const struct cpu_layout *l;
    const struct cpu_style *style;
    struct bitset free;
    struct bitset taken;
    unsigned wanted;
    bool is_numa_first; /* a NUMA node holds at least a socket */
};

static const struct bitset *
cpus_of(const struct take *t, enum cpu_level level, unsigned unit)
{
    return &t->l->levels[level].cpus[unit];
}

static unsigned
count_free(const struct take *t, enum cpu_level level, unsigned unit)
{
    return bitset_count_and(cpus_of(t, level, unit), &t->free);
}

/* Appends the units that have free CPUs within the set: the one with fewest
 * free CPUs first, then by id.
 */
static void
append_sorted(const struct take *t, enum cpu_level level, const struct bitset *within,
              struct cpu_order *order)
{
    unsigned keys[BITSET_BITS], first = order->count;
    struct bitset here = t->free;

    if (within != NULL)
        bitset_and(&here, within);
    for (unsigned i = 0; i < t->l->levels[level].count; i++) {
        unsigned at, key;

        if (!bitset_intersects(cpus_of(t, level, i), &here) || order->count == BITSET_BITS)
            continue;
        key = count_free(t, level, i);
        for (at = order->count++; at > first && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            order->units[at] = order->units[at - 1];
        }
        keys[at] = key;
        order->units[at] = (uint16_t)i;
    }
}

static void sort_numas(const struct take *t, struct cpu_order *ret_order);

static void
sort_sockets(const struct take *t, struct cpu_order *ret_order)
{
    struct cpu_order numas;

    ret_order->count = 0;
    if (!t->is_numa_first) {
        append_sorted(t, LEVEL_SOCKET, NULL, ret_order);
        return;
    }
    sort_numas(t, &numas);
    for (unsigned i = 0; i < numas.count; i++)
        append_sorted(t, LEVEL_SOCKET, cpus_of(t, LEVEL_NUMA, numas.units[i]), ret_order);
}

static void
sort_numas(const struct take *t, struct cpu_order *ret_order)
{
    struct cpu_order sockets;

    ret_order->count = 0;
    if (t->is_numa_first) {
        append_sorted(t, LEVEL_NUMA, NULL, ret_order);
        return;
    }
    sort_sockets(t, &sockets);
    for (unsigned i = 0; i < sockets.count; i++)
        append_sorted(t, LEVEL_NUMA, cpus_of(t, LEVEL_SOCKET, sockets.units[i]), ret_order);
}

/* Orders cores within the smaller units of the two: NUMA nodes or sockets. */
static void
sort_cores(const struct take *t, struct cpu_order *ret_order)
{
    enum cpu_level outer = t->is_numa_first ? LEVEL_SOCKET : LEVEL_NUMA;
    struct cpu_order units;

    if (t->is_numa_first)
        sort_sockets(t, &units);
    else
        sort_numas(t, &units);
    ret_order->count = 0;
    for (unsigned i = 0; i < units.count; i++)
        append_sorted(t, LEVEL_CORE, cpus_of(t, outer, units.units[i]), ret_order);
}

static void
sort_uncores(const struct take *t, struct cpu_order *ret_order)
{
    struct cpu_order numas;

    sort_numas(t, &numas);
    ret_order->count = 0;
    for (unsigned i = 0; i < numas.count; i++)
        append_sorted(t, LEVEL_UNCORE, cpus_of(t, LEVEL_NUMA, numas.units[i]), ret_order);
}

static void
take_all(struct take *t, const struct bitset *cpus)
{
    unsigned n = bitset_count_and(cpus, &t->free);
    struct bitset some = *cpus;

    bitset_and(&some, &t->free);
    bitset_or(&t->taken, &some);
    bitset_and_not(&t->free, &some);
    t->wanted -= n;
}

/* Whether all CPUs of the unit are free and their number is the usual one for
 * such a unit on this machine. Without the first condition a shared unit would
 * pass.
 */
static bool
is_whole(const struct take *t, enum cpu_level level, unsigned unit)
{
    unsigned size = bitset_count(cpus_of(t, level, unit));
    bool is_of_usual_size =
        (level != LEVEL_CORE && level != LEVEL_SOCKET) || size == cpu_layout_per(t->l, level);

    return is_of_usual_size && count_free(t, level, unit) == size;
}

/* Takes whole units that are not larger than what is still wanted. */
static void
take_whole(struct take *t, enum cpu_level level, const struct cpu_order *order)
{
    struct bitset whole = {0};

    for (unsigned i = 0; i < order->count; i++)
        if (is_whole(t, level, order->units[i]))
            bitset_add(&whole, order->units[i]);
    for (unsigned i = 0; i < order->count; i++) {
        const struct bitset *cpus = cpus_of(t, level, order->units[i]);

        if (bitset_has(&whole, order->units[i]) && bitset_contains(&t->free, cpus)
            && bitset_count(cpus) <= t->wanted)
            take_all(t, cpus);
    }
}

static void
take_whole_numas(struct take *t)
{
    struct cpu_order order;

    sort_numas(t, &order);
    take_whole(t, LEVEL_NUMA, &order);
}

static void
take_whole_sockets(struct take *t)
{
    struct cpu_order order;

    sort_sockets(t, &order);
    take_whole(t, LEVEL_SOCKET, &order);
}

/* Takes the lowest cores of the group if their free CPUs are exactly what is
 * still wanted.
 */
static void
take_rest_of_uncore(struct take *t, unsigned uncore)
{
    unsigned cores = t->wanted / cpu_layout_per(t->l, LEVEL_CORE);
    struct bitset some = {0};

    for (unsigned i = 0; i < t->l->levels[LEVEL_CORE].count && cores > 0; i++) {
        struct bitset here = *cpus_of(t, LEVEL_CORE, i);

        bitset_and(&here, &t->free);
        if (!bitset_intersects(&here, cpus_of(t, LEVEL_UNCORE, uncore)))
            continue;
        bitset_or(&some, &here);
        cores--;
    }
    if (bitset_count(&some) == t->wanted)
        take_all(t, &some);
}

static void
take_uncores(struct take *t)
{
    unsigned per = cpu_layout_per(t->l, LEVEL_UNCORE);
    struct cpu_order order, now;

    sort_uncores(t, &order);
    for (unsigned i = 0; i < order.count; i++) {
        if (t->wanted >= per) {
            sort_uncores(t, &now);
            take_whole(t, LEVEL_UNCORE, &now);
        }
        if (t->wanted == 0)
            return;
        take_rest_of_uncore(t, order.units[i]);
        if (t->wanted == 0)
            return;
    }
}

static void
take_whole_cores(struct take *t)
{
    struct cpu_order order;

    sort_cores(t, &order);
    take_whole(t, LEVEL_CORE, &order);
}

static void
take_threads(struct take *t)
{
    enum cpu_level level = t->style->is_spread ? LEVEL_SOCKET : LEVEL_CORE;
    struct cpu_order order;

    if (t->style->is_spread)
        sort_sockets(t, &order);
    else
        sort_cores(t, &order);
    for (unsigned i = 0; i < order.count; i++)
        bitset_foreach(cpu, cpus_of(t, level, order.units[i]))
        {
            if (t->wanted == 0)
                return;
            if (!bitset_has(&t->free, cpu))
                continue;
            bitset_remove(&t->free, cpu);
            bitset_add(&t->taken, cpu);
            t->wanted--;
        }
}

static void
take_init(struct take *t, const struct cpu_layout *l, const struct bitset *available,
          unsigned wanted, const struct cpu_style *style)
{
    *t = (struct take){.l = l, .style = style, .wanted = wanted};
    t->free = *available;
    bitset_and(&t->free, &l->cpus);
    t->is_numa_first = l->n_sockets >= l->levels[LEVEL_NUMA].count;
}

static int
take_packed(const struct cpu_layout *l, const struct bitset *available, unsigned wanted,
            const struct cpu_style *style, struct bitset *ret_taken)
{
    static void (*const numa_first[])(struct take *) = {take_whole_numas, take_whole_sockets};
    static void (*const socket_first[])(struct take *) = {take_whole_sockets, take_whole_numas};
    struct take t;

    take_init(&t, l, available, wanted, style);
    if (bitset_count(&t.free) < wanted)
        return -ENOSPC;
    for (unsigned i = 0; i < 2 && t.wanted > 0; i++)
        (t.is_numa_first ? numa_first : socket_first)[i](&t);
    if (t.wanted > 0 && style->aligns_uncore)
        take_uncores(&t);
    if (t.wanted > 0 && !style->is_spread)
        take_whole_cores(&t);
    if (t.wanted > 0)
        take_threads(&t);
    *ret_taken = t.taken;
    return 0;
}

/* Takes CPUs of one NUMA node and removes them from `free`. */
static int
take_from(const struct cpu_layout *l, unsigned numa, unsigned wanted, const struct cpu_style *style,
          struct bitset *free, struct bitset *taken)
{
    struct cpu_style plain = {.is_spread = style->is_spread};
    struct bitset here = *free, got;
    int r;

    bitset_and(&here, &l->levels[LEVEL_NUMA].cpus[numa]);
    r = take_packed(l, &here, wanted, &plain, &got);
    if (r < 0)
        return r;
    bitset_or(taken, &got);
    bitset_and_not(free, &got);
    return 0;
}

static int
take_shares(const struct cpu_layout *l, const struct cpu_share *share,
            const struct bitset *available, const struct cpu_style *style, struct bitset *ret_taken)
{
    struct bitset free = *available, taken = {0};
    int r;

    for (unsigned i = 0; i < share->count; i++) {
        r = take_from(l, share->numas[i], share->each, style, &free, &taken);
        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < share->count; i++)
        for (unsigned n = 0; n < share->more[i]; n++) {
            r = take_from(l, share->numas[i], style->group, style, &free, &taken);
            if (r < 0)
                return r;
        }
    *ret_taken = taken;
    return 0;
}

static int
take_distributed(const struct cpu_layout *l, const struct bitset *available, unsigned wanted,
                 const struct cpu_style *style, struct bitset *ret_taken)
{
    struct cpu_style plain = {.is_spread = style->is_spread};
    struct cpu_share share;
    struct cpu_order order;
    struct take t;

    take_init(&t, l, available, wanted, style);
    if (bitset_count(&t.free) < wanted)
        return -ENOSPC;
    if (wanted > 0 && wanted % style->group == 0) {
        struct cpu_share_input in = {.wanted = wanted, .group = style->group};

        sort_numas(&t, &order);
        in.n_cpus = l->n_cpus;
        in.n_machine = l->levels[LEVEL_NUMA].count;
        for (; in.count < order.count && in.count < CPU_SHARE_MAX; in.count++) {
            in.numas[in.count] = order.units[in.count];
            in.free[in.count] = count_free(&t, LEVEL_NUMA, order.units[in.count]);
        }
        if (cpu_share_find(&in, &share) && take_shares(l, &share, &t.free, style, ret_taken) == 0)
            return 0;
    }
    return take_packed(l, available, wanted, &plain, ret_taken);
}

int
cpu_accumulator_take(const struct cpu_layout *l, const struct bitset *available, unsigned wanted,
                     const struct cpu_style *style, struct bitset *ret_taken)
{
    if (style->distributes)
        return take_distributed(l, available, wanted, style, ret_taken);
    return take_packed(l, available, wanted, style, ret_taken);
}
