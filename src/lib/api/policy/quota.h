/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - what an object takes of a ResourceQuota, and what is left of one
 *
 * On trees, normalized and defaulted. Pure.
 *
 * Thread: any.
 * Source: k8s.io/kubernetes/pkg/quota/v1 and the ResourceQuota admission
 * plugin of 1.32.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/value/quantity.h"

struct arena;
struct json;
struct kind;

/* The values that ResourceQuotas are found by. */
enum resource_quota_index {
    RESOURCE_QUOTA_BY_NAMESPACE,
};

struct quota_amount {
    const char *name; /* "requests.cpu", "pods", "count/jobs.batch" */
    struct quantity amount;
};

struct quota_amounts {
    struct arena *arena;
    struct quota_amount *items;
    unsigned count, capacity;
};

/* Adds what the object takes, by all names that a quota may limit it by.
 * Pods that have ended, or should have by now, count as objects alone.
 */
void quota_amounts_init(struct quota_amounts *amounts, struct arena *arena);
void quota_amounts_add(struct quota_amounts *amounts,
                       const char *name,
                       const struct quantity *amount);
void quota_amounts_subtract(struct quota_amounts *amounts,
                            const char *name,
                            const struct quantity *amount);
void quota_add_usage(struct quota_amounts *amounts,
                     const struct kind *kind,
                     const struct json *object,
                     int64_t now_us);

/* Whether the quota's scopes take in the object. */
bool quota_covers(const struct json *quota,
                  const struct kind *kind,
                  const struct json *object);

/* The status.used that the quota has with the object, in the place of `old`, or
 * NULL. NULL: `ret_why` says, in upstream's words, what is missing or exceeded;
 * that an object takes less exceeds nothing. The used of before when the object
 * takes nothing that is limited.
 */
const struct json *quota_charge(struct arena *arena,
                                const struct json *quota,
                                const struct kind *kind,
                                const struct json *object,
                                const struct json *old,
                                int64_t now_us,
                                const char **ret_why);

/* A used of the amounts, for the names that `hard` limits. */
struct json *quota_used(struct arena *arena,
                        const struct json *hard,
                        const struct quota_amounts *amounts);
