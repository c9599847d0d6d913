/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_time.h - times and durations as DRMAA writes them
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Seconds since 1970, now. */
int64_t time_now(void);

/* [[[[CC]YY/]MM/]DD] hh:mm[:ss] [{-|+}UU:uu]. Parts that are left out are as soon as possible after now. */
bool time_parse(const char *text, int64_t now, int64_t *ret_time);

/* [[h:]m:]s, more than 0. */
bool duration_parse(const char *text, int64_t *ret_seconds);
