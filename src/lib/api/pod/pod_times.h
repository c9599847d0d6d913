/* SPDX-License-Identifier: Apache-2.0 */
/* pod_times.h - when a pod began, and when its time limit ends it
 *
 * The scheduler, the API and the lifecycle component plan with the same end.
 * INT64_MAX: there is none, also where the sum would overflow.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct pod;

/* The time limit alone. */
int64_t pod_limit_us(const struct pod *pod);

/* When its process began, or else its pod; `now_us` for one that has not. */
int64_t pod_began_us(const struct pod *pod, int64_t now_us);

/* The end by the limit of a pod that began then and was suspended for that long. */
int64_t pod_limit_end_us(const struct pod *pod, int64_t began_us, int64_t frozen_us);

/* The end by the limit if it is not suspended from now on. */
int64_t pod_expected_end_us(const struct pod *pod, int64_t now_us);
