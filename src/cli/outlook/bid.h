/* SPDX-License-Identifier: Apache-2.0 */
/* bid.h - what a pod that is to be placed asks of a node
 *
 * The amounts that any node counts, the exact demand that the allocator takes,
 * and scratch.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#include "lib/allocator/demand.h"
#include "lib/base/macro.h"

struct pod_sums;
struct pod_spec;
struct string_map;

struct bid_amount {
    const char *name; /* of the resource; borrowed from the pod */
    int64_t amount;   /* CPU in thousandths */
};

struct bid {
    struct bid_amount *amounts;
    unsigned n_amounts;
    int64_t cpu_milli, memory_bytes,
        scratch_bytes; /* the first two also above */
    struct demand demand;
};

/* The spec must outlive it. */
void bid_fini(struct bid *bid);
#define CLEANUP_BID CLEANUP(bid_fini)
void bid_init(struct bid *bid, const struct pod_spec *spec);

/* Of one of its amounts, in what a pod asks, and in a node's or remnant's list
 * of quantities.
 */
int64_t bid_amount_of_pod(const struct bid_amount *amount,
                          const struct pod_sums *requests);
int64_t bid_amount_in(const struct bid_amount *amount,
                      const struct string_map *quantities);
