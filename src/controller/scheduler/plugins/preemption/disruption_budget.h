/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_budget.h - the victims that a PodDisruptionBudget protects
 *
 * Budgets are read from the objects that the handle finds, once for an attempt
 * to preempt.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, filterPodsWithPDBViolation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct budgets;
struct handle;
struct pod_view;

void disruption_budgets_free(struct budgets *b);
struct budgets *disruption_budgets_new(const struct handle *handle)
    OWNED_BY(disruption_budgets_free);
DEFINE_CLEANUP(struct budgets, disruption_budgets_free)

/* Starts counting for another set of victims. */
void budgets_reset(struct budgets *b);

/* Counts the pod against its budgets; true when one of them is exceeded. */
bool disruption_budgets_violate(struct budgets *b, const struct pod_view *pod);
