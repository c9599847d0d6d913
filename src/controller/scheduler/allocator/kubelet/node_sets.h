/* SPDX-License-Identifier: Apache-2.0 */
/* node_sets.h - all sets of NUMA nodes: of one, of two, and so on
 *
 * The order of the kubelet's hints. The number of sets doubles with each node:
 * all are walked up to 16 nodes; with more the walk ends after so many, the
 * narrow ones having come first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/allocator/kubelet/combination.h"

#define NODE_SETS_LIMIT 65536u

struct node_sets_walk {
    const uint16_t *ids;
    struct combination set; /* of places */
    uint64_t nodes;         /* by id */
    unsigned visited;
};

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
    if (++w->visited >= NODE_SETS_LIMIT
        || (!combination_next(&w->set)
            && !combination_first(&w->set, w->set.of, w->set.size + 1)))
        return false;
    node_sets_name(w);
    return true;
}

/* Of numbers by place. */
static inline unsigned
node_sets_sum(const struct node_sets_walk *w, const unsigned *of)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < w->set.size; i++)
        sum += of[w->set.at[i]];
    return sum;
}
