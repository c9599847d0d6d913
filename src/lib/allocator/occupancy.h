/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - what is free on one node: cores, memory by NUMA node, devices
 *
 * Owns:       a reference to the topology_index; does not know any pods.
 * Thread:     one; an occupancy is not shared.
 * Invariant:  the counts agree with the bitsets; a core is free when no holding
 *             has it. Free memory may be negative when a node shrank under its
 *             pods.
 */
#pragma once

#include <stdint.h>

#include "lib/allocator/topology_index.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct holding;

struct occupancy_numa {
    uint32_t free_cores;
    uint32_t free_pus;
    int64_t free_memory;
    int64_t free_huge[TOPOLOGY_INDEX_MAX_PAGES];
    uint64_t group;  /* NUMA nodes of all holdings with memory here */
    uint32_t blocks; /* number of these holdings; 0: no group */
};

struct occupancy {
    struct topology_index *topology_index;
    uint32_t free_cores;
    uint32_t free_pus; /* PUs of free cores; the shared pool uses them */
    uint32_t n_shared; /* number of holdings in the shared pool */
    uint64_t version;  /* incremented by each take and release */
    int64_t shared_milli;
    int64_t free_memory; /* of all NUMA nodes; negative ones count as 0 */
    struct occupancy_numa *numa;
    uint16_t *group_free;  /* free cores of each group */
    uint8_t *core_holders; /* number of holdings of each core */
    uint8_t *device_holders;
    struct bitset core_set; /* the free cores */
};

/* Life: everything is free at first. */
void occupancy_free(struct occupancy *o);
struct occupancy *occupancy_new(struct topology_index *topology_index) OWNED_BY(occupancy_free);
DEFINE_CLEANUP(struct occupancy, occupancy_free)

void occupancy_take(struct occupancy *o, const struct holding *holding);
void occupancy_release(struct occupancy *o, const struct holding *holding);
