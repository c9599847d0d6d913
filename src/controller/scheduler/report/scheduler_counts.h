/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_counts.h - how many pods and nodes a scheduler has, by their state
 *
 * Plain data: scheduler_count fills it in, the metrics and the tests read it.
 *
 * Thread: any; it is a copy.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct scheduler_counts {
    uint64_t attempts, scheduled, unschedulable, errors;
    size_t active, backoff, unschedulable_pods, gated, in_flight, binding;
    size_t in_group; /* waiting pods that a leader stands for */
    size_t parked;   /* in flight, waiting for extenders */
    size_t nodes, pods, assumed;
};
