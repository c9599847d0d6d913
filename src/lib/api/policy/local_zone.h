/* SPDX-License-Identifier: Apache-2.0 */
/* local_zone.h - the time zones that objects name, and local times there
 *
 * A zone that was found is cached forever: there are a few hundred names, and
 * only administrators write them. Times are seconds since 1970; a local time is
 * expressed as if it were UTC.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct time_zone;

/* False: there is no such zone. A NULL zone is UTC, as for "" and "UTC". */
bool local_zone_find(const char *name, const struct time_zone **ret_zone);

/* The UTC time at which the zone's clocks show local_s. A local time that
 * occurs twice means the first one; one that is skipped is moved later by the
 * skipped amount.
 */
int64_t local_zone_utc_s(const struct time_zone *zone, int64_t local_s);
