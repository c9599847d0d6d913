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

/* Of what is to come, to the minute: "09:15", "Nov 24 09:15", "2028-01-31". */
void
local_time_format_minute(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE]);
