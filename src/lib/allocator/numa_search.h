/* SPDX-License-Identifier: Apache-2.0 */
/* numa_search.h - the best set of so many NUMA nodes that holds a demand
 *
 * The closest to each other; of single ones those where fewest L3 groups are
 * shared among the demand; of equal ones those that the demand fills best. Exact up to a number of steps that machines of up to 12 NUMA nodes
 * stay below, of up to 16 for up to 4 of them, of 64 for pairs; beyond it the
 * best so far, or of the neighbourhood of any NUMA node, or any set that holds it
 * (numa_cover.h). One is always found where there is one.
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
    unsigned limit; /* of visits of one width */
    bool has_found;
    uint64_t best;
    unsigned best_distance; /* sum over pairs */
    unsigned best_split;    /* L3 groups more than need be, of one alone */
    unsigned best_left;     /* PUs that stay free on them */
};

void numa_search_init(struct numa_search *s,
                      const struct occupancy *o,
                      const struct demand *d);

/* False: no set of that width holds it. */
bool numa_search_run(struct numa_search *s, unsigned width);

/* PUs that a demand for so many threads of each core can use there. */
unsigned
numa_search_usable(const struct occupancy *o, unsigned numa, unsigned threads);

/* Whether these NUMA nodes have free what it asks of that kind; cores: where
 * it limits those of each package.
 */
bool numa_search_has_cores(const struct occupancy *o,
                           const struct demand *d,
                           uint64_t set);
bool numa_search_has_devices(const struct occupancy *o,
                             const struct demand *d,
                             uint64_t set);
bool numa_search_has_hugepages(const struct occupancy *o,
                               const struct demand *d,
                               uint64_t set);
