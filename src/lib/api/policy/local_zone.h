/* SPDX-License-Identifier: Apache-2.0 */
/* local_zone.h - the time zones that objects name, and the hour there
 *
 * A zone that was found is kept for good: there are a few hundred names, and only
 * administrators write them. Seconds since 1970; a local time is written as if
 * it were UTC.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct time_zone;

/* False: there is no such zone. NULL is UTC, as "" and "UTC" are. */
bool local_zone_find(const char *name, const struct time_zone **ret_zone);

/* The moment at which its clocks show that: of two the first; of an hour that
 * is left out, as much later as is left out.
 */
int64_t local_zone_utc_s(const struct time_zone *zone, int64_t local_s);
