/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - which cores, memory and devices of a node a pod would get
 *
 * Pure functions of an occupancy and a demand. Cores are never split between
 * pods: the threads of a core that the pod does not use are withheld. The
 * fewest NUMA nodes that hold the demand are taken, the closest of these, of
 * single ones one where it need not be split over more L3 groups than it must,
 * and of equal ones those that it fills best, so that the largest hole of the
 * node survives. Within them whole L3 groups are filled before others are
 * begun, and cores are of one kind where one kind has enough: the fastest that
 * has.
 *
 * NUMA policies: none and best-effort take what there is, the best first;
 * restricted insists on as few NUMA nodes as the demand would need on an empty
 * machine; single-numa-node on one.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/allocator/topology_index.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct arena;
struct demand;
struct holding;
struct json;
struct occupancy;

enum allocator_answer {
    ALLOCATOR_FITS,
    ALLOCATOR_NO_CORES,        /* not enough free whole cores */
    ALLOCATOR_NO_SHARED,       /* the shared pool is too small */
    ALLOCATOR_NO_MEMORY,       /* not enough free memory */
    ALLOCATOR_NO_DEVICES,      /* not enough free devices */
    ALLOCATOR_NO_HUGEPAGES,    /* not enough free huge pages */
    ALLOCATOR_NOT_ALIGNED,     /* enough of all, but not as the policy wants */
    ALLOCATOR_NOT_EMPTY,       /* a whole node is wanted, something runs */
    ALLOCATOR_TOO_SMALL,       /* not even on this node empty */
    ALLOCATOR_NO_SUCH_DEVICES, /* no such devices here, or not so many */
};

/* Whether nothing that ends on the node can change it. */
static inline bool
allocator_answer_lasts(enum allocator_answer answer)
{
    return answer >= ALLOCATOR_TOO_SMALL;
}

/* Where it would go, as far as a score needs it. */
struct allocator_choice {
    uint64_t numa;     /* places of the NUMA nodes */
    unsigned width;    /* how many */
    unsigned distance; /* mean distance between them, 10 for one alone */
    unsigned split;    /* L3 groups more than need be, of one alone */
    unsigned left_pus; /* free PUs that stay on them */
};

/* The answer is exact for one NUMA node and for policies that take anything;
 * for wider restricted sets a search that is bounded.
 */
enum allocator_answer allocator_choose(const struct occupancy *o,
                                       const struct demand *demand,
                                       struct allocator_choice *ret_choice);

/* The exact cores, memory and devices of a choice. Memory is by place of NUMA
 * node.
 */
struct grant {
    struct bitset cpus;
    struct bitset withheld;
    struct bitset cores;
    struct bitset devices;
    uint64_t memory_nodes;
    int64_t memory[64];
    int64_t huge[TOPOLOGY_INDEX_MAX_PAGES]
                [64]; /* by the topology_index's page sizes */
    int64_t shared_milli;
    bool is_shared;
};
enum allocator_answer allocator_grant(const struct occupancy *o,
                                      const struct demand *demand,
                                      struct grant *ret_grant);

/* How many PUs, withheld ones too, the cores are that it would give on these
 * NUMA nodes.
 */
unsigned grant_taken_pus(const struct occupancy *o,
                         const struct demand *demand,
                         uint64_t numa);

struct holding *grant_holding(const struct grant *grant,
                              const struct topology_index *topology_index);

/* As Binding.allocation carries it. */
struct json *grant_encode(const struct grant *grant,
                          const struct topology_index *topology_index,
                          struct arena *arena);
