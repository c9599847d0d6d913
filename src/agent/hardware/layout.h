/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - packages, dies, NUMA nodes, caches, cores and PUs from hwloc
 *
 * Fills a new topology's groups and its `pus`. Groups contain only PUs that
 * jobs may use and that are not reserved; groups without a PU are not listed.
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
    /* a limit in addition to hwloc's; NULL: none */
    const struct bitset *allowed;
    const struct bitset *reserved;
    /* the default affinity excludes these PUs, so `allowed` does not apply to
     * them
     */
    const struct bitset *isolated;
    bool offers_isolated; /* otherwise they are reserved, too */
};

int layout_fill(hwloc_topology_t machine, const struct layout_limits *limits, struct topology *t,
                struct error *err);
