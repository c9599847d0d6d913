/* SPDX-License-Identifier: Apache-2.0 */
/* pod_sums.h - what a pod asks for as a whole, by resource
 *
 * Exact quantities, rounded by whoever looks, as upstream. Names are borrowed
 * from the pod.
 *
 * Thread: any.
 * Source: k8s.io/component-helpers/resource (PodRequests, PodLimits).
 */
#pragma once

#include <stdint.h>

#include "lib/api/value/quantity.h"
#include "lib/base/macro.h"

struct pod_spec;

struct pod_sum {
    const char *name;
    struct quantity amount; /* in the form of the first that was added */
};

/* Zeroed is empty. */
struct pod_sums {
    struct pod_sum *items;
    uint32_t count, capacity;
};

/* The request assumed for a container that names none; 0: nothing. */
struct pod_sums_defaults {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

/* Life. Requests: added to what is there; `defaults` may be NULL. Limits: of
 * the resources that a container limits.
 */
void pod_sums_fini(struct pod_sums *s);
void pod_sums_add_requests(struct pod_sums *s,
                           const struct pod_spec *spec,
                           const struct pod_sums_defaults *defaults);
void pod_sums_add_limits(struct pod_sums *s, const struct pod_spec *spec);

/* Look: or NULL. Rounded up, clamped to 64 bits; 0 for NULL. */
const struct pod_sum *pod_sums_find(const struct pod_sums *s, const char *name);
int64_t pod_sum_value(const struct pod_sum *sum);
int64_t pod_sum_milli(const struct pod_sum *sum);
