/* SPDX-License-Identifier: Apache-2.0 */
/* numa_cover.h - whether any set of so many NUMA nodes holds a demand
 *
 * For machines with so many NUMA nodes that trying all sets takes too long. It builds the sums
 * of sets NUMA node by NUMA node and drops every sum that another one equals or exceeds in all
 * amounts. The set that is found holds the demand, but need not be the closest one.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct numa_search;

/* For the demand and the width of the search. A set that is found always holds
 * the demand. A set may be missed where the cores of each package are limited
 * and packages share a NUMA node or cores differ, and when one width has more
 * than some thousand sums.
 */
bool numa_cover_find(const struct numa_search *s, uint64_t *ret_set);
