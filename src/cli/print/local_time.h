/* SPDX-License-Identifier: Apache-2.0 */
/* local_time.h - points in time as a user's clock shows them
 *
 * Times are the user's own (TZ, /etc/localtime), which `kctl --utc` sets to
 * UTC.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#define LOCAL_TIME_SIZE 32

/* "2026-11-23 09:15:34" */
void local_time_format(int64_t us, char out[LOCAL_TIME_SIZE]);

/* The parts that are left out are as now: "09:15:34", "Nov 21 09:15", "2025-11-21".
 */
void
local_time_format_brief(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE]);
