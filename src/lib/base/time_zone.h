/* SPDX-License-Identifier: Apache-2.0 */
/* time_zone.h - local time of a place, from the system's time zone data
 *
 * A zone is an object of its own, so that no thread changes the zone of the
 * process (TZ, localtime). Times are seconds since 1970; days count from
 * 1970-01-01.
 *
 * Thread: any; a zone is constant once it is open.
 * See:    RFC 8536 (the file), POSIX.1 8.3 (the rule at its end).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct time_zone;

/* Life. Open reads the file of a zone such as "Europe/Berlin"; NULL: the
 * system's own zone, or UTC if it has none. -ENOENT when there is no such zone,
 * or the name leads out of the database.
 */
void time_zone_free(struct time_zone *z);
int time_zone_open(const char *name, struct time_zone **ret_zone, struct error *err);
DEFINE_CLEANUP(struct time_zone, time_zone_free)

/* Seconds east of UTC at that time. A NULL zone is UTC. */
int64_t time_zone_offset_s(const struct time_zone *z, int64_t at_s);

/* The first second of a calendar day, which need not be midnight. */
int64_t time_zone_day_start_s(const struct time_zone *z, int64_t day);

/* Converts a day number to a calendar day, and back. */
struct calendar_day {
    int64_t year;
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
};
struct calendar_day calendar_day_of(int64_t day);
int64_t calendar_day_number(struct calendar_day day);

/* 0: Sunday. */
unsigned calendar_weekday(int64_t day);
