/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - how much of a ResourceQuota an object uses, and how much is left
 *
 * Pure functions on normalized trees with defaults.
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

/* The index by which ResourceQuotas are found. */
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

/* Adds the object's use under all names by which a quota may limit it. A pod
 * that has ended, or whose deletion deadline has passed, counts only as an
 * object.
 */
void quota_amounts_init(struct quota_amounts *amounts, struct arena *arena);
void quota_amounts_add(struct quota_amounts *amounts, const char *name,
                       const struct quantity *amount);
void quota_amounts_subtract(struct quota_amounts *amounts, const char *name,
                            const struct quantity *amount);
void quota_add_usage(struct quota_amounts *amounts, const struct kind *kind,
                     const struct json *object, int64_t now_us);

/* Whether the quota's scopes include the object. */
bool quota_covers(const struct json *quota, const struct kind *kind, const struct json *object);

/* The quota's new status.used with the object in place of `old` (may be NULL).
 * The result is NULL if the object is refused, and ret_why then says in
 * upstream's words what is missing or exceeded; an object that uses less than
 * before exceeds nothing. If the quota covers neither of the two, the result is
 * the present status.used.
 */
const struct json *quota_charge(struct arena *arena, const struct json *quota,
                                const struct kind *kind, const struct json *object,
                                const struct json *old, int64_t now_us, const char **ret_why);

/* Upstream's text about resources that the object uses and that the quota's spec
 * limits, while their use is not counted yet; NULL: there are none. Upstream
 * lets such objects pass until the quota has a status.
 */
const char *quota_find_uncounted(struct arena *arena, const struct json *quota,
                                 const struct kind *kind, const struct json *object,
                                 int64_t now_us);

/* The amounts as a status.used with the names that `hard` limits. */
struct json *quota_used(struct arena *arena, const struct json *hard,
                        const struct quota_amounts *amounts);
