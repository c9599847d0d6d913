/* SPDX-License-Identifier: Apache-2.0 */
/* amounts.h - an amount of each resource: requested, allocatable or in use
 *
 * CPU, memory and ephemeral storage have members of their own. All other
 * resources ("scalars", see amounts_is_scalar) are in a short list that is not
 * sorted. A scalar's resource number comes from a `struct string_ids` that the
 * scheduler owns.
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

/* Parses a map of resource names to quantities, such as a node's allocatable.
 * `ret_pods` is set to the value of "pods", which is not part of the amounts.
 * No amount is more than 2^56, whatever a node says.
 */
void amounts_parse(struct amounts *a, struct string_ids *resources,
                   const struct string_map *quantities, int64_t *ret_pods);

void amounts_add(struct amounts *a, const struct amounts *more);
void amounts_subtract(struct amounts *a, const struct amounts *less);
void amounts_set_scalar(struct amounts *a, uint32_t resource, int64_t value);
int64_t amounts_scalar(const struct amounts *a, uint32_t resource);

/* The amount of the named resource, be it a member or a scalar; 0 when it is
 * absent.
 */
int64_t amounts_value(const struct amounts *a, const struct string_ids *resources,
                      const char *name);

/* Whether a resource of that name is kept as a scalar: its name has a domain
 * prefix, or it is huge pages or attachable volumes.
 */
bool amounts_is_scalar(const char *name);
