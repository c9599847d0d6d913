/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h - the least and the most that a node, or any of several nodes, has
 * free
 *
 * From these bounds a plugin computes the best score that it could give, so
 * that the search can skip nodes that cannot win (bounded_search.h). For a
 * single node both ends of a range are the same.
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
    /* As in node_view.h */
    struct range cpu_milli, memory_bytes; /* allocatable */
    struct range cpu_used, memory_used;   /* requested */
    struct range nonzero_cpu, nonzero_memory;
    uint32_t most_place;
    uint32_t most_soft_taints;

    /* From the nodes' occupancies; all 0 when no node has one. Nodes with and
     * without a topology may be mixed.
     */
    bool has_bare; /* a node has no topology */
    uint32_t least_free_pus, most_free_pus;
    uint32_t most_pus;          /* of any one node, free or not */
    uint64_t numa_free;         /* bit set: the steps that occur (see below) */
    int64_t most_free_memory;   /* of all NUMA nodes of one node */
    int64_t most_numa_memory;   /* free in one NUMA node */
    uint32_t most_free_devices; /* of any type */
};

void bounds_init(struct bounds *b, const struct node_view *node);
void bounds_add(struct bounds *b, const struct bounds *other);

/* The number of free PUs of a NUMA node is rounded down to a step: one step for each number
 * below 40, then one step for every 8.
 */
#define BOUNDS_NO_STEP UINT32_MAX

/* Returns the lowest step in `numa_free` that may hold `pus` or more, or BOUNDS_NO_STEP. */
uint32_t bounds_find_step(uint64_t numa_free, uint32_t pus);

/* Returns the lowest number of PUs that falls into a step. */
uint32_t bounds_step_least(uint32_t step);

/* An upper bound of the free PUs of any one NUMA node. */
uint32_t bounds_most_in_numa(uint64_t numa_free);
