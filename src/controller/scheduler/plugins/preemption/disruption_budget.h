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

void budgets_free(struct budgets *b);
struct budgets *budgets_new(const struct handle *handle) OWNED_BY(budgets_free);
DEFINE_CLEANUP(struct budgets, budgets_free)

/* Starts counting for another set of victims. */
void budgets_reset(struct budgets *b);

/* Counts the pod against its budgets; true when one of them is exceeded. */
bool budgets_violate(struct budgets *b, const struct pod_view *pod);
