/* SPDX-License-Identifier: Apache-2.0 */
/* meters.h - the scheduler's metrics, under kube-scheduler's names
 *
 * Thread: the scheduler's; Prometheus reads them from any.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct meters;
struct metric_registry;
struct scheduler_counts;

enum meter_result {
    METER_SCHEDULED,
    METER_UNSCHEDULABLE,
    METER_ERROR,
};

/* NULL from a NULL registry, and every call takes that. */
void meters_free(struct meters *m);
struct meters *meters_new(struct metric_registry *registry);
DEFINE_CLEANUP(struct meters, meters_free)

void meters_attempt(struct meters *m,
                    const char *profile,
                    enum meter_result result,
                    int64_t took_us);
void meters_algorithm(struct meters *m, int64_t took_us);
void meters_placed(struct meters *m, unsigned attempts, int64_t waited_us);
void meters_counts(struct meters *m, const struct scheduler_counts *counts);
