/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - which cores, memory and devices of a node a pod would get
 *
 * Pure functions of an occupancy and a demand. Cores are never split between
 * pods: the threads of a core that the pod does not use are withheld. The
 * allocator chooses the fewest NUMA nodes that hold the demand, and among sets
 * of that size the one with the smallest distances. For a single NUMA node it
 * prefers one where the demand need not be split over more L3 groups than
 * necessary. Among equal sets it takes the one that the demand fills best, so
 * that the largest hole of the node survives. Within the set it fills whole L3
 * groups before it begins others, and takes cores of one kind if one kind has
 * enough: the fastest such kind.
 *
 * NUMA policies: none and best-effort accept any set, the best first;
 * restricted insists on as few NUMA nodes as the demand would need on an empty
 * machine; single-numa-node insists on one.
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
    ALLOCATOR_NOT_EMPTY,       /* a whole node is wanted, but something runs here */
    ALLOCATOR_TOO_SMALL,       /* does not fit even when the node is empty */
    ALLOCATOR_NO_SUCH_DEVICES, /* no such devices here, or too few in all */
};

/* Whether the answer stays the same whatever ends on the node. */
static inline bool
allocator_answer_lasts(enum allocator_answer answer)
{
    return answer >= ALLOCATOR_TOO_SMALL;
}

/* Where the demand would go, as far as a score needs to know. */
struct allocator_choice {
    uint64_t numa;     /* places of the NUMA nodes */
    unsigned width;    /* number of NUMA nodes */
    unsigned distance; /* mean distance between them; 10 for a single node */
    unsigned split;    /* surplus L3 groups; only for a single node */
    unsigned left_pus; /* free PUs that remain on these nodes */
};

/* The answer is exact for one NUMA node and for policies that accept any set;
 * for restricted sets of several NUMA nodes the search is bounded.
 */
enum allocator_answer allocator_choose(const struct occupancy *o, const struct demand *demand,
                                       struct allocator_choice *ret_choice);

/* The exact cores, memory and devices of a choice. Memory is indexed by the
 * place of the NUMA node.
 */
struct grant {
    struct bitset cpus;
    struct bitset withheld;
    struct bitset cores;
    struct bitset devices;
    uint64_t memory_nodes;
    int64_t memory[64];
    int64_t huge[TOPOLOGY_INDEX_MAX_PAGES][64]; /* by the topology_index's page sizes */
    int64_t shared_milli;
    bool is_shared;
};
enum allocator_answer allocator_grant(const struct occupancy *o, const struct demand *demand,
                                      struct grant *ret_grant);

/* The same for a choice that allocator_choose has made for this demand in this
 * occupancy, when the occupancy has not changed since.
 */
enum allocator_answer allocator_grant_choice(const struct occupancy *o, const struct demand *demand,
                                             const struct allocator_choice *choice,
                                             struct grant *ret_grant);

/* The PUs, withheld ones included, of the cores that a grant on these NUMA
 * nodes would take.
 */
unsigned grant_taken_pus(const struct occupancy *o, const struct demand *demand, uint64_t numa);

struct holding *grant_holding(const struct grant *grant,
                              const struct topology_index *topology_index);

/* The grant as JSON, in the form of Binding.allocation. */
struct json *grant_encode(const struct grant *grant, const struct topology_index *topology_index,
                          struct arena *arena);
