/* SPDX-License-Identifier: Apache-2.0 */
/* topology_index.h - a topology, and what the allocator derives from it once
 *
 * Nodes with the same hardware share one topology_index, which is found by the
 * text of the topology. Cores that share an L3 cache within one NUMA node are a
 * *group*; without such a cache all cores of the NUMA node are one group. Here
 * NUMA nodes are identified by their place in the topology, in the API by the
 * OS index.
 *
 * Thread:     one; an index and its cache are not shared between threads.
 * Invariant:  every core is in exactly one group, every group in one NUMA
 *             node.
 */
#pragma once

#include <stdint.h>

#include "lib/api/node/topology.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct error;
struct json;
struct topology_cache;

struct topology_index_core {
    uint16_t numa;
    uint16_t group;
    uint16_t n_pus;
};

#define TOPOLOGY_INDEX_MAX_PAGES 4u /* huge page sizes of one machine */

struct topology_index_group {
    struct bitset cores; /* places in the topology's cores */
    uint16_t numa;
    uint16_t package;
    uint16_t n_cores;
};

struct topology_index_numa {
    uint16_t first_group; /* the groups of one NUMA node are consecutive */
    uint16_t n_groups;
    uint16_t n_cores;
    uint16_t n_pus;
    int64_t huge_bytes[TOPOLOGY_INDEX_MAX_PAGES]; /* by the topology_index's page sizes */
};

struct topology_index {
    const struct topology *topology;
    struct topology_index_core *cores;
    struct topology_index_group *groups;
    struct topology_index_numa *numa;
    unsigned n_cores, n_groups, n_numa, n_pus;
    unsigned max_threads; /* PUs of the core that has the most */
    unsigned n_packages;
    unsigned most_in_group; /* cores of the largest group */
    bool is_uniform;        /* every core has max_threads PUs */
    struct bitset *kinds;   /* cores of each kind, the fastest first */
    unsigned n_kinds;       /* 1: all cores are alike */
    uint64_t memory_bytes;  /* of all NUMA nodes */
    uint64_t page_bytes[TOPOLOGY_INDEX_MAX_PAGES];
    unsigned n_pages;
};

/* The cache keeps one topology_index for each topology in use. */
void topology_cache_free(struct topology_cache *topologies);
struct topology_cache *topology_cache_new(void) OWNED_BY(topology_cache_free);
DEFINE_CLEANUP(struct topology_cache, topology_cache_free)

/* The topology_index of a node's status.topology; -EINVAL if that is not a
 * topology. The caller owns one reference.
 */
int topology_cache_find(struct topology_cache *topologies, const struct json *topology,
                        struct topology_index **ret_index, struct error *err);

/* An index that is still in use outlives its cache. */
void topology_index_unref(struct topology_index *topology_index);
struct topology_index *topology_index_ref(struct topology_index *topology_index);
DEFINE_CLEANUP(struct topology_index, topology_index_unref)

/* Returns the distance that the topology gives; without distances 10 within a NUMA node and
 * 20 between two.
 */
unsigned topology_index_distance(const struct topology_index *topology_index, unsigned a,
                                 unsigned b);

/* Returns the place of the NUMA node with that OS index, or TOPOLOGY_NONE. */
unsigned topology_index_find_numa(const struct topology_index *topology_index, int64_t os_index);

/* The place of that huge page size, or TOPOLOGY_INDEX_MAX_PAGES. */
unsigned topology_index_find_page(const struct topology_index *topology_index, uint64_t page_bytes);

/* Whether the words of `model` ("a100", "A100 SXM4") occur in that order in the
 * device's model ("NVIDIA A100-SXM4-80GB"). A `model` of NULL always matches.
 */
bool topology_index_device_matches(const struct topology_index *topology_index, unsigned device,
                                   const char *type, const char *model);
