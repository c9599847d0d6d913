/* SPDX-License-Identifier: Apache-2.0 */
/* node_sets.h - sets of NUMA nodes: of one node, then of two, and so on
 *
 * The order of the kubelet's hints. The number of sets doubles with each node,
 * and the kubelet refuses machines with more than 8 NUMA nodes. The walk covers
 * all sets up to 11 nodes; beyond that all sets of one and two nodes, and of
 * each greater width only runs of neighbours.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/allocator/kubelet/combination.h"

#define NODE_SETS_ALL 11u

struct node_sets_walk {
    const uint16_t *ids;
    struct combination set; /* places in `ids` */
    uint64_t nodes;         /* ids */
};

/* Moves on to the next run of neighbours. */
static inline bool
node_sets_shift(struct combination *set)
{
    if (set->at[set->size - 1] + 1u == set->of)
        return false;
    for (unsigned i = 0; i < set->size; i++)
        set->at[i]++;
    return true;
}

static inline void
node_sets_name(struct node_sets_walk *w)
{
    w->nodes = 0;
    for (unsigned i = 0; i < w->set.size; i++)
        w->nodes |= UINT64_C(1) << w->ids[w->set.at[i]];
}

static inline bool
node_sets_first(struct node_sets_walk *w, const uint16_t *ids, unsigned count)
{
    *w = (struct node_sets_walk){.ids = ids};
    if (!combination_first(&w->set, count, 1))
        return false;
    node_sets_name(w);
    return true;
}

static inline bool
node_sets_next(struct node_sets_walk *w)
{
    bool is_walked = w->set.of <= NODE_SETS_ALL || w->set.size <= 2;

    if (!(is_walked ? combination_next(&w->set) : node_sets_shift(&w->set))
        && !combination_first(&w->set, w->set.of, w->set.size + 1))
        return false;
    node_sets_name(w);
    return true;
}

/* Sums the values at the set's places. */
static inline unsigned
node_sets_sum(const struct node_sets_walk *w, const unsigned *of)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < w->set.size; i++)
        sum += of[w->set.at[i]];
    return sum;
}
