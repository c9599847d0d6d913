/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_plan.h - how many pods of a budget may be disrupted now
 *
 * Pure functions. The caller adds the pods that the budget selects, one by one,
 * each with the Job that controls it. If the budget is a percentage or
 * maxUnavailable, the expected number of pods is the number that those Jobs run
 * at a time; a pod without a Job counts as one. (Upstream asks for the scale of
 * the controllers, and a Job has no scale subresource there.)
 *
 * Thread:  any; one at a time for each count.
 * Source: Kubernetes, controller/disruption.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct disruption_counts;
struct json;
struct object;

/* Life. The budget's object is borrowed. */
void disruption_counts_free(struct disruption_counts *counts);
struct disruption_counts *disruption_counts_new(const struct object *budget, int64_t now_us)
    OWNED_BY(disruption_counts_free);
DEFINE_CLEANUP(struct disruption_counts, disruption_counts_free)

/* Whether the pod is in the budget's namespace and matches its selector. */
bool disruption_selects(const struct object *budget, const struct object *pod);

/* Adds a selected pod and its Job (or NULL). */
void disruption_counts_add(struct disruption_counts *counts, const struct object *pod,
                           const struct object *job);

/* Returns the merge patch for the budget's status, in the arena, or NULL when
 * the status is up to date already. `ret_wake_us`: real time at which the next
 * granted eviction that led to no deletion expires; 0: there is none.
 */
struct json *disruption_plan(const struct disruption_counts *counts, struct arena *arena,
                             int64_t *ret_wake_us);
