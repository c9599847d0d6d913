/* SPDX-License-Identifier: Apache-2.0 */
/* amounts.h - how much of each resource: asked for, there, or in use
 *
 * CPU, memory and ephemeral storage have members of their own; extended
 * resources and huge pages ("scalars") are a short list ordered by number.
 * The numbers are those of a `struct string_ids` that the scheduler owns.
 *
 * Thread: any; plain data.
 * Source: kube-scheduler, framework.Resource.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct string_ids;
struct string_map;

struct amount {
    uint32_t resource;
    int64_t value;
};

struct amounts {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t ephemeral_bytes;
    struct amount *scalars;
    uint32_t n_scalars;
    uint32_t scalar_capacity;
};

void amounts_fini(struct amounts *a);

/* Reads a map of resource names to quantities, as a node reports it. Sets
 * `ret_pods` to its "pods".
 */
void amounts_parse(struct amounts *a,
                   struct string_ids *resources,
                   const struct string_map *quantities,
                   int64_t *ret_pods);

void amounts_add(struct amounts *a, const struct amounts *more);
void amounts_subtract(struct amounts *a, const struct amounts *less);
void amounts_set_scalar(struct amounts *a, uint32_t resource, int64_t value);
int64_t amounts_scalar(const struct amounts *a, uint32_t resource);

/* By name, whichever kind it is; what a score asks. */
int64_t amounts_value(const struct amounts *a,
                      const struct string_ids *resources,
                      const char *name);

/* Whether a resource of that name is kept as a scalar: it has a domain, or is
 * of huge pages or attachable volumes.
 */
bool amounts_is_scalar(const char *name);
