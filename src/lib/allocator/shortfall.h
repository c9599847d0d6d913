/* SPDX-License-Identifier: Apache-2.0 */
/* shortfall.h - what a pod needs of a node, and what the node has, in words
 *
 *   24 CPUs on whole cores in one NUMA node, 48Gi of memory, 2 gpu (a100)
 *   has 32 CPUs free, at most 14 in one NUMA node; 1 gpu (a100) free
 *
 * Thread:  any.
 */
#pragma once

#include "lib/allocator/allocator.h"

struct demand;
struct occupancy;
struct strbuf;

/* Appends nothing for an empty demand. */
void shortfall_format_need(const struct demand *demand, struct strbuf *out);

/* Writes which resources are too small, according to the allocator's answer.
 * For ALLOCATOR_TOO_SMALL the amounts are those of the empty node.
 */
void shortfall_format(const struct occupancy *o, const struct demand *demand,
                      enum allocator_answer answer, struct strbuf *out);
