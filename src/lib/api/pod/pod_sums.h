/* SPDX-License-Identifier: Apache-2.0 */
/* pod_sums.h - the resources that a pod requests as a whole
 *
 * Exact quantities; the caller rounds them, as in upstream. Names are borrowed
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
    struct quantity amount; /* in the format of the first one added */
};

/* Zeroed is valid and empty. */
struct pod_sums {
    struct pod_sum *items;
    uint32_t count, capacity;
};

/* The request assumed for a container that has none; 0: no assumption. */
struct pod_sums_defaults {
    int64_t cpu_milli;
    int64_t memory_bytes;
};

void pod_sums_fini(struct pod_sums *s);

/* Both calls add to the sums. */

/* Adds the requests; `defaults` may be NULL. */
void pod_sums_add_requests(struct pod_sums *s, const struct pod_spec *spec,
                           const struct pod_sums_defaults *defaults);

/* Adds the limits, only of resources that a container limits. */
void pod_sums_add_limits(struct pod_sums *s, const struct pod_spec *spec);

/* Find returns NULL for an unknown name. Values are rounded up and
 * clamped to 64 bits; 0 for NULL.
 */
const struct pod_sum *pod_sums_find(const struct pod_sums *s, const char *name);
int64_t pod_sum_value(const struct pod_sum *sum);
int64_t pod_sum_milli(const struct pod_sum *sum);
