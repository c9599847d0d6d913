/* SPDX-License-Identifier: Apache-2.0 */
/* local_time.h - points in time in the user's time zone
 *
 * The zone is the user's own (TZ, /etc/localtime); `kctl --utc` sets it to UTC.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct strbuf;

#define LOCAL_TIME_SIZE 32

/* "2026-11-23 09:15:34" */
void local_time_format(int64_t us, char out[LOCAL_TIME_SIZE]);

/* Omits the parts that are the same now: "09:15:34", "Nov 21 09:15",
 * "2025-11-21".
 */
void local_time_format_brief(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE]);

/* Appends the text with the API's times in it ("2026-11-23T08:15:34Z") as local
 * times of the first form.
 */
void local_time_add_text(const char *text, struct strbuf *out);

/* A future time, to the minute: "09:15", "Nov 24 09:15", "2028-01-31". */
void local_time_format_minute(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE]);
