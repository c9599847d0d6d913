/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_accumulator.h - which CPUs the kubelet's static policy would take
 *
 * Packed: whole NUMA nodes or sockets, whole L3 groups where asked, whole
 * cores, threads; at every level the unit with fewest free CPUs first.
 * Distributed: over the fewest NUMA nodes that can share evenly, in groups of
 * so many CPUs.
 *
 * Where the kubelet goes wrong these do not: what is taken is always within
 * what is available and of the size asked for, the best set of NUMA nodes is
 * the one that is used, and every call ends.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/bitset.h"

struct cpu_layout;

struct cpu_style {
    bool is_spread;     /* distribute-cpus-across-cores */
    bool aligns_uncore; /* prefer-align-cpus-by-uncorecache */
    bool distributes;   /* distribute-cpus-across-numa */
    unsigned group;     /* with it: CPUs are handed out by so many */
};

/* -ENOSPC: there are not so many. */
int cpu_accumulator_take(const struct cpu_layout *l,
                         const struct bitset *available,
                         unsigned wanted,
                         const struct cpu_style *style,
                         struct bitset *ret_taken);
