/* SPDX-License-Identifier: Apache-2.0 */
/* numa_cover.h - whether any set of so many NUMA nodes holds a demand
 *
 * For machines of so many NUMA nodes that trying all sets takes too long. Sums
 * of sets are built up NUMA node by NUMA node, and of those that no other is at
 * least as good as in everything one is kept. Which of the sets it finds is not
 * the closest, only one that holds.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct numa_search;

/* For the demand and the width of the search. Not exact, but never wrong about
 * a set that it finds, where the cores of each package are limited and packages
 * share a NUMA node or cores differ; nor beyond some thousand sums of one width.
 */
bool numa_cover_find(const struct numa_search *s, uint64_t *ret_set);
