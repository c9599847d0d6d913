/* SPDX-License-Identifier: Apache-2.0 */
/* numa_hint.h - NUMA nodes that would do, and what several resources agree on
 *
 * A hint is a set of NUMA nodes, by the bits of their ids, and whether it is
 * preferred; or any nodes. The merge is the kubelet's: of all ways to take one
 * hint for each resource the one whose common nodes are best. It is found
 * without trying all ways: the sets that can come out are gathered resource by
 * resource, and a preferred result needs one set that all of them prefer.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct numa_hint {
    uint64_t nodes;
    bool is_any; /* no affinity; nodes does not count */
    bool is_preferred;
};

/* No hints at all and not anything: it cannot be satisfied. */
struct numa_hints {
    bool is_anything; /* no preference */
    struct numa_hint *items;
    unsigned count, capacity;
};

enum hint_policy {
    HINT_NONE,
    HINT_BEST_EFFORT,
    HINT_RESTRICTED,
    HINT_SINGLE,
};

struct hint_merge {
    enum hint_policy policy;
    bool prefers_closest; /* prefer-closest-numa-nodes */
    uint64_t nodes;       /* of the machine */
    /* Row from, column to, in the order of ids; may be NULL. */
    const uint16_t *distances;
};

void numa_hints_fini(struct numa_hints *h);
void numa_hints_add(struct numa_hints *h, uint64_t nodes, bool is_preferred);

/* True: the pod is admitted with what comes out. */
bool numa_hint_merge(const struct hint_merge *m,
                     const struct numa_hints *const *resources,
                     unsigned count,
                     struct numa_hint *ret_best);
