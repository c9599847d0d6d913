/* SPDX-License-Identifier: Apache-2.0 */
/* numa_search.h - the best set of so many NUMA nodes that holds a demand
 *
 * The best set has the smallest sum of distances; a single NUMA node, the
 * fewest surplus L3 groups; among equal sets, the demand fills the best one
 * most. The result is exact within a limit of steps that suffices for machines
 * of up to 12 NUMA nodes, for sets of up to 4 of 16, and for pairs of 64.
 * Beyond the limit the result is the best set so far, or of the neighbourhood
 * of any NUMA node, or any set that holds the demand (numa_cover.h).
 *
 * Thread:  any; a search is on the stack of its caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct demand;
struct occupancy;

struct numa_search {
    const struct occupancy *o;
    const struct demand *d;
    unsigned width;
    unsigned pus[64];
    int64_t memory[64];
    unsigned most_pus;
    int64_t most_memory;
    unsigned visits, all_visits;
    unsigned limit; /* visits per width */
    bool has_found;
    uint64_t best;
    unsigned best_distance; /* sum over all pairs */
    unsigned best_split;    /* surplus L3 groups; only for a single node */
    unsigned best_left;     /* free PUs that remain on the set */
};

void numa_search_init(struct numa_search *s, const struct occupancy *o, const struct demand *d);

/* False: no set of that width holds the demand. */
bool numa_search_run(struct numa_search *s, unsigned width);

/* The free PUs of a NUMA node that a demand for `threads` of each core can use.
 */
unsigned numa_search_usable(const struct occupancy *o, unsigned numa, unsigned threads);

/* Whether these NUMA nodes have free what the demand asks of that resource.
 * Cores: only for a demand that limits the cores of each package.
 */
bool numa_search_has_cores(const struct occupancy *o, const struct demand *d, uint64_t set);
bool numa_search_has_devices(const struct occupancy *o, const struct demand *d, uint64_t set);
bool numa_search_has_hugepages(const struct occupancy *o, const struct demand *d, uint64_t set);
