/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_plan.h - how many pods of a budget may be missing now
 *
 * Pure functions. Fed with the pods that the budget selects, one by one, and
 * the jobs that control them. How many pods there should be is what the jobs
 * run at a time, where the budget is a share or an upper bound; a pod without
 * a job stands for itself. (Upstream asks the controllers' scale, which a Job
 * does not have there.)
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
struct job;
struct json;
struct object;
struct pod_disruption_budget;

/* Life. The budget's object is borrowed. */
void disruption_counts_free(struct disruption_counts *t);
struct disruption_counts *disruption_counts_new(const struct object *budget,
                                                int64_t now_us)
    OWNED_BY(disruption_counts_free);
DEFINE_CLEANUP(struct disruption_counts, disruption_counts_free)

/* A pod of the budget's namespace, selected or not, and its job (or NULL). */
bool disruption_selects(const struct object *budget, const struct object *pod);
void disruption_counts_add(struct disruption_counts *t,
                           const struct object *pod,
                           const struct object *job);

/* The merge patch of its status that is wanted, in the arena, or NULL when
 * what stands there is right. Wake: when an eviction that came to nothing is
 * to be forgotten, in real time; 0: none is.
 */
struct json *disruption_plan(const struct disruption_counts *t,
                             struct arena *arena,
                             int64_t *ret_wake_us);
