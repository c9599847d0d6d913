/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h - the least and the most that a node, or each of several, has free
 *
 * A plugin says by them how much it could score at best, so that the search
 * need not look at nodes that cannot win (bounded_search.h). For a single node
 * both ends of a range are the same. Plain data.
 *
 * Thread: any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node_view;

struct range {
    int64_t least, most;
};

struct bounds {
    /* As node_view has them */
    struct range cpu_milli, memory_bytes; /* allocatable */
    struct range cpu_used, memory_used;   /* requested */
    struct range nonzero_cpu, nonzero_memory;
    uint32_t most_place;
    uint32_t most_soft_taints;

    /* As its occupancy has them, all 0 without one. One without a topology
     * may be among several that have one.
     */
    bool has_bare; /* one that has no topology */
    uint32_t least_free_pus, most_free_pus;
    uint32_t most_pus;          /* that there are */
    uint64_t numa_free;         /* steps of free PUs in one NUMA node */
    int64_t most_free_memory;   /* of all NUMA nodes */
    int64_t most_numa_memory;   /* free in one */
    uint32_t most_free_devices; /* of any type */
};

void bounds_init(struct bounds *l, const struct node_view *node);
void bounds_add(struct bounds *l, const struct bounds *other);

/* Free PUs of a NUMA node come in steps, one for each number up to 40, then
 * one for eight of them. Find: the step of the least number from `pus` on that
 * there may be, or BOUNDS_NO_STEP; the least number of a step.
 */
#define BOUNDS_NO_STEP UINT32_MAX
uint32_t bounds_find_step(uint64_t numa_free, uint32_t pus);
uint32_t bounds_step_least(uint32_t step);

/* No NUMA node has more free than this. */
uint32_t bounds_most_in_numa(uint64_t numa_free);
