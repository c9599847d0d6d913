/* SPDX-License-Identifier: Apache-2.0 */
/* numa_hint.h - NUMA nodes that suit a resource, and the merge of several hints
 *
 * A hint is a set of NUMA nodes, one bit per id, and whether it is preferred;
 * or it allows any nodes. The merge is the kubelet's: of all combinations of
 * one hint per resource, the one whose common nodes are best. This code does
 * not try all combinations: it collects the possible sets resource by resource,
 * and a preferred result needs one set that all resources prefer.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct numa_hint {
    uint64_t nodes;
    bool is_any; /* no affinity; `nodes` is ignored */
    bool is_preferred;
};

/* No hints and not is_anything: the request cannot be satisfied. */
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
    /* A matrix in the order of ids, row: from, column: to; may be NULL. */
    const uint16_t *distances;
};

void numa_hints_fini(struct numa_hints *h);
void numa_hints_add(struct numa_hints *h, uint64_t nodes, bool is_preferred);

/* True: the pod is admitted with the resulting hint. */
bool numa_hint_merge(const struct hint_merge *m, const struct numa_hints *const *resources,
                     unsigned count, struct numa_hint *ret_best);
