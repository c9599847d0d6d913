/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_score.h - the usual metrics of a schedule
 *
 * Wait is start - submission; bounded slowdown is max(1, (wait + run) /
 * max(run, 10 s)).
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct job_log;

struct schedule_score {
    double mean_wait_s;
    double mean_slowdown;
    double p95_slowdown;
    int64_t p95_wait_s;
    int64_t longest_wait_s;
    double utilization; /* of all processors, from first submission to last end */
    int64_t makespan_s;
};

/* All jobs must have started. */
struct schedule_score schedule_score(const struct job_log *log, unsigned processors);
