/* SPDX-License-Identifier: Apache-2.0 */
/* cron_schedule.h - when something is to be done again and again: five fields
 * of cron, a macro such as @daily, or @every 90m
 *
 * A time that a summer-time change leaves out is no time; one that it repeats
 * comes twice. Where both day fields are restricted, either is enough.
 *
 * Thread: any; plain data.
 * Source: what github.com/robfig/cron v3 (ParseStandard) accepts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct time_zone;

struct cron_schedule {
    uint64_t minutes, hours, days, months, weekdays; /* a bit each */
    bool is_any_day, is_any_weekday;
    int64_t every_s; /* not 0: that, and none of the above */
};

/* -EINVAL, in upstream's words. */
int cron_schedule_parse(const char *text,
                        struct cron_schedule *ret_schedule,
                        struct error *err);

/* Whether there is such a time at all, in any year: there is no 30th of
 * February.
 */
bool cron_schedule_can_come(const struct cron_schedule *schedule);

/* The first time behind that one, in seconds since 1970; 0: none for five
 * years, which means never.
 */
int64_t cron_schedule_next_s(const struct cron_schedule *schedule,
                             const struct time_zone *zone,
                             int64_t after_s);

/* The last time behind the first that is not behind the second; 0: none. The
 * count goes to `most` at most. Its cost does not grow with the time between.
 */
int64_t cron_schedule_last_s(const struct cron_schedule *schedule,
                             const struct time_zone *zone,
                             int64_t after_s,
                             int64_t until_s,
                             unsigned most,
                             unsigned *ret_count);
