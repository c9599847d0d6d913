/* SPDX-License-Identifier: Apache-2.0 */
/* pod_end.h - how the end of a pod is to be taken: when it was, and whether it
 * is held against its Job
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/job/failure_policy.h"

struct job;
struct job_pod_counts;
struct pod;

/* When its process did; else when it was asked to, or its conditions last
 * changed.
 */
int64_t pod_end_us(const struct pod *pod);

/* Ended for its Job's sake; or lost with its node, or pushed out by others,
 * and the Job forgives that.
 */
bool pod_end_is_excused(const struct job *job,
                        const struct pod *pod,
                        struct failure_ruling ruling);

/* For no fault of the job's, and not because its user asked. */
bool pod_end_is_interrupted(const struct job *job, const struct pod *pod);

/* Whether the next attempt may end as fast as this one did: on a node whose
 * shepherds die at their start, a thousand would in a minute.
 */
bool pod_end_is_refused(const struct pod *pod);

/* The element was cancelled alone, or, before the pod had ended by itself, with
 * the whole array or by another's failure (failFast). False where the job is no
 * array.
 */
bool pod_end_is_cancelled(const struct job_pod_counts *counts,
                          const struct job *job,
                          const struct pod *pod,
                          int64_t index);
