/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_accumulator.h - which CPUs the kubelet's static policy would take
 *
 * Packed: takes whole NUMA nodes or sockets, then whole L3 groups if the policy
 * option asks for it, then whole cores, then threads; at every level the unit
 * with fewest free CPUs first. Distributed: takes an even share from each of
 * the fewest NUMA nodes that can give it, in groups of so many CPUs.
 *
 * Unlike the kubelet, which has bugs here, these functions always take CPUs
 * that are available, and exactly as many as asked for; they use the best set
 * of NUMA nodes; and every call ends.
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
    unsigned group;     /* with distributes: CPUs per group */
};

/* -ENOSPC: fewer CPUs are available than wanted. */
int cpu_accumulator_take(const struct cpu_layout *l, const struct bitset *available,
                         unsigned wanted, const struct cpu_style *style, struct bitset *ret_taken);
