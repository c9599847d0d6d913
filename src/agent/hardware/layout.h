/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - packages, NUMA nodes, L3 caches, cores and PUs out of hwloc
 *
 * Fills a new topology's groups with its `pus`: only those that may be used
 * and are not reserved are in any group, and groups left without one are not
 * listed.
 */
#pragma once

#include <hwloc.h>

struct bitset;
struct error;
struct topology;

/* `allowed` restricts further what hwloc allows; NULL for no restriction. */
int layout_fill(hwloc_topology_t machine,
                const struct bitset *allowed,
                const struct bitset *reserved,
                struct topology *t,
                struct error *err);
