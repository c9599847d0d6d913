/* SPDX-License-Identifier: Apache-2.0 */
/* node_load.h - the sum of the resources that pods hold on each node, from the
 * API
 *
 * Plain data in an arena: requests for accounting, and the exact CPUs and
 * memory of allocations, including those of pods deleted by force.
 *
 * Thread: the main one; the functions that only read a load: any.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct arena;
struct error;
struct json;
struct kctl;
struct map;
struct topology;

struct memory_hold { /* of one pod on one NUMA node */
    int64_t node, bytes;
    struct memory_hold *next;
};

struct node_load {
    int64_t mcpu;
    int64_t memory_bytes;
    unsigned pods;
    struct bitset cpus; /* exclusive to pods, or kept idle for them */
    struct memory_hold *memory;
};

/* Reads the nodes (label_selector may be NULL) and fills `loads`, a map by node
 * name; a node without pods is not in the map.
 */
int node_loads_collect(struct kctl *kctl, const char *label_selector, struct arena *arena,
                       struct map *loads, struct json **ret_nodes, struct error *err);

/* The free cores or bytes of the NUMA node with that index. */
unsigned node_load_free_cores(const struct node_load *load, const struct topology *t,
                              unsigned numa);
int64_t node_load_free_bytes(const struct node_load *load, const struct topology *t, unsigned numa);
