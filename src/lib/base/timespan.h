/* SPDX-License-Identifier: Apache-2.0 */
/* timespan.h - lengths of time as people write them: 500ms, 10s, 1h30m, 7d
 *
 * Go's syntax for durations, which the configuration files of Kubernetes use,
 * with days of 24 hours added. Microseconds, never negative.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

#define TIMESPAN_TEXT_SIZE 40

/* -EINVAL: the text is no timespan (a number needs a unit, except 0); -ERANGE:
 * it is too long.
 */
int timespan_parse(const char *text, int64_t *ret_us);

/* Timespan_parse reads the text back as the same value. */
void timespan_format(int64_t us, char out[TIMESPAN_TEXT_SIZE]);
