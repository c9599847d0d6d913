/* SPDX-License-Identifier: Apache-2.0 */
/* silicon.h - a topology, and what the allocator derives from it once
 *
 * Nodes of the same hardware share one, found by the text of the topology.
 * Cores that share an L3 cache within one NUMA node are a *group*; without
 * such a cache all cores of the NUMA node are one. NUMA nodes are named by
 * their place in the topology here, by the OS index on the wire.
 *
 * Thread:     one; a silicon and its shelf are not shared between two.
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
struct silicon_shelf;

struct silicon_core {
    uint16_t numa;
    uint16_t group;
    uint16_t n_pus;
};

#define SILICON_MAX_PAGES 4u /* sizes of huge pages on one machine */

struct silicon_group {
    struct bitset cores; /* by place in the topology's cores */
    uint16_t numa;
    uint16_t package;
    uint16_t n_cores;
};

struct silicon_numa {
    uint16_t first_group; /* groups of one NUMA node follow each other */
    uint16_t n_groups;
    uint16_t n_cores;
    uint16_t n_pus;
    int64_t huge_bytes[SILICON_MAX_PAGES]; /* by the silicon's page sizes */
};

struct silicon {
    const struct topology *topology;
    struct silicon_core *cores;
    struct silicon_group *groups;
    struct silicon_numa *numa;
    unsigned n_cores, n_groups, n_numa, n_pus;
    unsigned max_threads; /* PUs of the core that has most */
    unsigned n_packages;
    unsigned most_in_group; /* cores of the largest */
    bool is_uniform;        /* every core has max_threads PUs */
    struct bitset *kinds;   /* their cores, the fastest kind first */
    unsigned n_kinds;       /* 1 where all are equal */
    uint64_t memory_bytes;  /* of all NUMA nodes */
    uint64_t page_bytes[SILICON_MAX_PAGES];
    unsigned n_pages;
};

/* The shelf keeps one silicon for each topology in use. */
void silicon_shelf_free(struct silicon_shelf *shelf);
struct silicon_shelf *silicon_shelf_new(void) OWNED_BY(silicon_shelf_free);
DEFINE_CLEANUP(struct silicon_shelf, silicon_shelf_free)

/* The silicon of a node's status.topology; -EINVAL when it is none. The
 * caller owns one reference.
 */
int silicon_find(struct silicon_shelf *shelf,
                 const struct json *topology,
                 struct silicon **ret_silicon,
                 struct error *err);

/* One that is on no shelf, for tests; takes the topology. */
void silicon_unref(struct silicon *silicon);
struct silicon *silicon_new(struct topology *topology TAKES)
    OWNED_BY(silicon_unref);
struct silicon *silicon_ref(struct silicon *silicon);
DEFINE_CLEANUP(struct silicon, silicon_unref)

/* Look: as the topology says, 10 and 20 where it says nothing. Find: the
 * place of the NUMA node with that OS index, or TOPOLOGY_NONE.
 */
unsigned
silicon_distance(const struct silicon *silicon, unsigned a, unsigned b);
unsigned silicon_find_numa(const struct silicon *silicon, int64_t os_index);

/* The place of that size of huge page, or SILICON_MAX_PAGES. */
unsigned silicon_find_page(const struct silicon *silicon, uint64_t page_bytes);

/* Whether the words of `model` ("a100", "A100 SXM4") stand in the model of the
 * device ("NVIDIA A100-SXM4-80GB"), in that order; NULL: always.
 */
bool silicon_device_is(const struct silicon *silicon,
                       unsigned device,
                       const char *type,
                       const char *model);
