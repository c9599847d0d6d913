/* SPDX-License-Identifier: Apache-2.0 */
/* topology_index.h - a topology, and what the allocator derives from it once
 *
 * Nodes of the same hardware share one, found by the text of the topology.
 * Cores that share an L3 cache within one NUMA node are a *group*; without
 * such a cache all cores of the NUMA node are one. NUMA nodes are named by
 * their place in the topology here, by the OS index on the wire.
 *
 * Thread:     one; an index and its cache are not shared between two.
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

#define TOPOLOGY_INDEX_MAX_PAGES 4u /* sizes of huge pages on one machine */

struct topology_index_group {
    struct bitset cores; /* by place in the topology's cores */
    uint16_t numa;
    uint16_t package;
    uint16_t n_cores;
};

struct topology_index_numa {
    uint16_t first_group; /* groups of one NUMA node follow each other */
    uint16_t n_groups;
    uint16_t n_cores;
    uint16_t n_pus;
    int64_t huge_bytes
        [TOPOLOGY_INDEX_MAX_PAGES]; /* by the topology_index's page sizes */
};

struct topology_index {
    const struct topology *topology;
    struct topology_index_core *cores;
    struct topology_index_group *groups;
    struct topology_index_numa *numa;
    unsigned n_cores, n_groups, n_numa, n_pus;
    unsigned max_threads; /* PUs of the core that has most */
    unsigned n_packages;
    unsigned most_in_group; /* cores of the largest */
    bool is_uniform;        /* every core has max_threads PUs */
    struct bitset *kinds;   /* their cores, the fastest kind first */
    unsigned n_kinds;       /* 1 where all are equal */
    uint64_t memory_bytes;  /* of all NUMA nodes */
    uint64_t page_bytes[TOPOLOGY_INDEX_MAX_PAGES];
    unsigned n_pages;
};

/* The cache keeps one topology_index for each topology in use. */
void topology_cache_free(struct topology_cache *topologies);
struct topology_cache *topology_cache_new(void) OWNED_BY(topology_cache_free);
DEFINE_CLEANUP(struct topology_cache, topology_cache_free)

/* The topology_index of a node's status.topology; -EINVAL when it is none. The
 * caller owns one reference.
 */
int topology_cache_find(struct topology_cache *topologies,
                        const struct json *topology,
                        struct topology_index **ret_index,
                        struct error *err);

/* One that is in no cache, for tests; takes the topology. */
void topology_index_unref(struct topology_index *topology_index);
struct topology_index *topology_index_new(struct topology *topology TAKES)
    OWNED_BY(topology_index_unref);
struct topology_index *
topology_index_ref(struct topology_index *topology_index);
DEFINE_CLEANUP(struct topology_index, topology_index_unref)

/* Look: as the topology says, 10 and 20 where it says nothing. Find: the
 * place of the NUMA node with that OS index, or TOPOLOGY_NONE.
 */
unsigned topology_index_distance(const struct topology_index *topology_index,
                                 unsigned a,
                                 unsigned b);
unsigned topology_index_find_numa(const struct topology_index *topology_index,
                                  int64_t os_index);

/* The place of that size of huge page, or TOPOLOGY_INDEX_MAX_PAGES. */
unsigned topology_index_find_page(const struct topology_index *topology_index,
                                  uint64_t page_bytes);

/* Whether the words of `model` ("a100", "A100 SXM4") stand in the model of the
 * device ("NVIDIA A100-SXM4-80GB"), in that order; NULL: always.
 */
bool topology_index_device_matches(const struct topology_index *topology_index,
                                   unsigned device,
                                   const char *type,
                                   const char *model);
