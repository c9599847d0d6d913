/* SPDX-License-Identifier: Apache-2.0 */
/* since_time.h - a point in the past as people name it: "2h", "yesterday",
 * "08:30", "2026-11-23", "2026-11-23T08:30"
 *
 * Clocks and dates are local; a time of day that is yet to come today was
 * yesterday's.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

/* -EINVAL, with words and the nearest word that there is. */
int since_time_parse(const char *text,
                     int64_t now_us,
                     int64_t *ret_us,
                     struct error *err);
