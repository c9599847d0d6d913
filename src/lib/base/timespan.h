/* SPDX-License-Identifier: Apache-2.0 */
/* timespan.h - lengths of time as people write them: 500ms, 10s, 1h30m, 7d
 *
 * Go's syntax for durations, which Kubernetes' configuration files use, and
 * days of 24 hours beside it. Microseconds, never negative.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

#define TIMESPAN_TEXT_SIZE 40

/* -EINVAL: not a timespan (a number without a unit is none, but 0 is);
 * -ERANGE: too long.
 */
int timespan_parse(const char *text, int64_t *ret_us);

/* Reads back as the same. */
void timespan_format(int64_t us, char out[TIMESPAN_TEXT_SIZE]);
