/* SPDX-License-Identifier: Apache-2.0 */
/* allocation.h - the exact cores, memory nodes and devices of a pod
 *
 * The scheduler chooses it when it assumes the pod, the binding carries it,
 * Pod.status.allocation keeps it until the pod ends, and the agent obeys it.
 * Lists are written as the kernel does: "0-7,64-71".
 *
 * Thread:  any.
 */
#pragma once

#include "lib/base/bitset.h"
#include "lib/json/record.h"

struct causes;
struct error;
struct strbuf;
struct topology;

struct allocation_memory {
    int64_t node;          /* OS index */
    const char *bytes;     /* a quantity */
    const char *page_size; /* of huge pages, a quantity; or NULL */
};

struct allocation {
    const char *cpus;     /* exclusive PUs; NULL: the shared pool */
    const char *withheld; /* siblings kept idle, charged as used */
    const char *memory_nodes;
    LIST_OF(const char *) devices; /* "gpu0" */
    LIST_OF(struct allocation_memory) memory;
    const char *shared_cpu; /* a quantity of the shared pool, or NULL */
};

extern const struct record allocation_record;

/* Adds what is no list to the causes; `tree` is the allocation as it came. */
void allocation_check(const struct allocation *a,
                      const struct json *tree,
                      struct causes *causes);

/* Whether both say the same in the same words. */
bool allocation_equals(const struct allocation *a, const struct allocation *b);

/* Whether two allocations on one node are disjoint in PUs (used and withheld)
 * and devices. -EINVAL when a list cannot be read; -EEXIST with the overlap
 * in words when they are not.
 */
int allocation_check_disjoint(const struct allocation *a,
                              const struct allocation *b,
                              struct error *err);

/* The same beside a pod that stands still for others: they may have its PUs, and
 * none of its devices.
 */
int allocation_check_beside(const struct allocation *a,
                            const struct allocation *still,
                            struct error *err);

/* Whether all of it is there: PUs, NUMA nodes, devices. Missing parts are
 * appended to `missing`: "CPUs 4-7, device gpu1".
 */
bool allocation_is_within(const struct allocation *a,
                          const struct topology *topology,
                          struct strbuf *missing);

/* Bytes that it has of a NUMA node, by OS index: of ordinary memory, or of huge
 * pages of that size.
 */
#define ALLOCATION_PLAIN 0
int64_t allocation_memory_of(const struct allocation *a,
                             int64_t node,
                             int64_t page_bytes);

/* Whether there is as much of each memory that it has any of as was given away
 * in all, which `given` says; NULL: to this one alone. Memory that is too small
 * is appended to `missing`: "memory of NUMA node 1 (60Gi given, 40Gi there)".
 * NUMA nodes that are not there are no matter of this.
 */
typedef int64_t
allocation_given_fn(int64_t node, int64_t page_bytes, void *context);
bool allocation_is_backed(const struct allocation *a,
                          const struct topology *topology,
                          allocation_given_fn *given,
                          void *context,
                          struct strbuf *missing);
