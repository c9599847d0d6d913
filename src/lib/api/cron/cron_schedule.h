/* SPDX-License-Identifier: Apache-2.0 */
/* cron_schedule.h - when something recurs: the five fields of cron, a macro
 * such as @daily, or @every 90m
 *
 * A local time that a change to summer time skips does not occur; one that a
 * change repeats occurs twice. If both day fields are restricted, a day that
 * matches either is enough.
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
    uint64_t minutes, hours, days, months, weekdays; /* one bit per value */
    bool is_any_day, is_any_weekday;
    int64_t every_s; /* not 0: only this interval counts */
};

/* -EINVAL with upstream's error text. */
int cron_schedule_parse(const char *text, struct cron_schedule *ret_schedule, struct error *err);

/* Whether the schedule matches any time of any year; the 30th of February never
 * comes.
 */
bool cron_schedule_can_come(const struct cron_schedule *schedule);

/* The first time after after_s, in seconds since 1970; 0: none within five
 * years, which means never.
 */
int64_t cron_schedule_next_s(const struct cron_schedule *schedule, const struct time_zone *zone,
                             int64_t after_s);

/* The last time after after_s that is not after until_s; 0: none. ret_count is
 * the number of such times, at most `most`. The cost does not grow with the
 * interval.
 */
int64_t cron_schedule_last_s(const struct cron_schedule *schedule, const struct time_zone *zone,
                             int64_t after_s, int64_t until_s, unsigned most, unsigned *ret_count);
