/* SPDX-License-Identifier: Apache-2.0 */
/* pod_disruption_budget.h - how many pods may be unavailable at the same time
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"
#include "lib/api/value/selector.h"

struct object;

struct pod_disruption_budget {
    struct meta meta;
    const struct label_selector *selector; /* NULL: no pod */
    const char *min_available;             /* a number, or "50%"; or NULL */
    const char *max_unavailable;
    const char *unhealthy_eviction; /* IfHealthyBudget, AlwaysAllow */
    int64_t observed_generation;
    int64_t disruptions_allowed;
    int64_t current_healthy;
    int64_t desired_healthy;
    int64_t expected_pods;
};

extern const struct record pod_disruption_budget_record;

/* The body of `pods/NAME/eviction`. */
extern const struct record eviction_record;

const struct pod_disruption_budget *pod_disruption_budget_of(const struct object *object);
