/* SPDX-License-Identifier: Apache-2.0 */
/* time_offset.h - times given relative to now
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/values/time_expression.h"

/* Microseconds since 1970 of "now", "now+1hour", "+2h", "-7d"; unless the
 * direction is ahead also "2h". False: it is none of these, or more than a
 * hundred years away.
 */
bool time_offset_read(const char *text, enum time_direction direction, int64_t now_us,
                      int64_t *ret_us);
