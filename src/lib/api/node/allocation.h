/* SPDX-License-Identifier: Apache-2.0 */
/* allocation.h - the exact cores, memory nodes and devices of a pod
 *
 * The scheduler chooses the allocation when it assumes the pod. The binding
 * carries it, Pod.status.allocation stores it until the pod ends, and the agent
 * enforces it. Lists have the kernel's format: "0-7,64-71".
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
    const char *page_size; /* quantity; NULL: plain memory */
};

struct allocation {
    const char *cpus;     /* exclusive PUs; NULL: the shared pool */
    const char *withheld; /* SMT siblings kept idle, charged as used */
    const char *memory_nodes;
    LIST_OF(const char *) devices; /* "gpu0" */
    LIST_OF(struct allocation_memory) memory;
    const char *shared_cpu; /* quantity of the shared pool, or NULL */
};

extern const struct record allocation_record;

/* Adds a cause for each list that cannot be parsed; `tree` is the allocation as
 * it was received.
 */
void allocation_check(const struct allocation *a, const struct json *tree, struct causes *causes);

/* Whether all texts of the two allocations are equal. */
bool allocation_equals(const struct allocation *a, const struct allocation *b);

/* Whether two allocations on one node are disjoint in PUs (used and withheld)
 * and devices. -EINVAL: a list cannot be parsed; -EEXIST: they overlap, with
 * the overlap as text.
 */
int allocation_check_disjoint(const struct allocation *a, const struct allocation *b,
                              struct error *err);

/* The same check against a suspended pod that yields its PUs to others: `a` may
 * have the PUs of `still`, but none of its devices.
 */
int allocation_check_beside(const struct allocation *a, const struct allocation *still,
                            struct error *err);

/* Whether the topology has all PUs, NUMA nodes and devices of the allocation.
 * Missing parts are appended to `missing`: "CPUs 4-7, device gpu1".
 */
bool allocation_is_within(const struct allocation *a, const struct topology *topology,
                          struct strbuf *missing);

/* The bytes that the allocation has on a NUMA node, by OS index: of plain
 * memory, or of huge pages of that size.
 */
#define ALLOCATION_PLAIN 0
int64_t allocation_memory_of(const struct allocation *a, int64_t node, int64_t page_bytes);

/* Whether each memory of the allocation (NUMA node and page size) is at least
 * as large as the total that was given out of it. `given` returns that total;
 * NULL: only this allocation counts. Memory that is too small is appended to
 * `missing`: "memory of NUMA node 1 (60Gi given, 40Gi there)". NUMA nodes that
 * the topology lacks are ignored.
 */
typedef int64_t allocation_given_fn(int64_t node, int64_t page_bytes, void *context);
bool allocation_is_backed(const struct allocation *a, const struct topology *topology,
                          allocation_given_fn *given, void *context, struct strbuf *missing);
