/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - packages, dies, NUMA nodes, caches, cores and PUs out of hwloc
 *
 * Fills a new topology's groups with its `pus`: only those that may be used
 * and are not kept back are in any group, and groups left without one are not
 * listed.
 *
 * Thread: one at a time for each topology; for workers.
 */
#pragma once

#include <hwloc.h>

#include <stdbool.h>

struct bitset;
struct error;
struct topology;

struct layout_limits {
    const struct bitset *allowed; /* beyond what hwloc allows; NULL: all */
    const struct bitset *reserved;
    const struct bitset *isolated; /* which nobody is allowed by default, so
                                    * that `allowed` says nothing of them */
    bool offers_isolated;          /* else they are kept back, too */
};

int layout_fill(hwloc_topology_t machine,
                const struct layout_limits *limits,
                struct topology *t,
                struct error *err);
