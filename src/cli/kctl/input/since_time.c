/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/since_time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/base/timespan.h"
#include "lib/json/record.h"

#define SECOND INT64_C(1000000)

static struct tm
break_down(int64_t us)
{
    const time_t seconds = (time_t)(us / SECOND);
    struct tm tm = {0};

    localtime_r(&seconds, &tm);
    return tm;
}

/* A day of the calendar may have 23 hours or 25. */
static int64_t
make(struct tm *tm)
{
    tm->tm_isdst = -1;
    return (int64_t)mktime(tm) * SECOND;
}

static bool
read_word(const char *text, int64_t now_us, int64_t *ret_us)
{
    struct tm tm = break_down(now_us);

    if (strcasecmp(text, "now") == 0) {
        *ret_us = now_us;
        return true;
    }
    if (strcasecmp(text, "yesterday") == 0)
        tm.tm_mday--;
    else if (strcasecmp(text, "today") != 0
             && strcasecmp(text, "midnight") != 0)
        return false;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    *ret_us = make(&tm);
    return true;
}

static bool
is_day_time(int hour, int minute, int second)
{
    return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0
           && second < 60;
}

/* "08:30", "08:30:05" */
static bool
read_clock(const char *text, int64_t now_us, int64_t *ret_us)
{
    struct tm tm = break_down(now_us);
    int hour, minute, second = 0, end = -1;

    if (sscanf(text, "%2d:%2d%n", &hour, &minute, &end) != 2 || end < 0)
        return false;
    if (text[end] == ':') {
        const char *rest = text + end + 1;

        end = -1;
        if (sscanf(rest, "%2d%n", &second, &end) != 1 || rest[end] != '\0')
            return false;
    } else if (text[end] != '\0')
        return false;
    if (!is_day_time(hour, minute, second))
        return false;
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    *ret_us = make(&tm);
    if (*ret_us > now_us) {
        tm.tm_mday--;
        *ret_us = make(&tm);
    }
    return true;
}

/* "2026-11-23", and behind it perhaps a clock after a "T" or a blank. */
static bool
read_date(const char *text, int64_t *ret_us)
{
    struct tm tm = {0};
    int year, month, day, hour = 0, minute = 0, second = 0, end = -1;

    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3
        || end < 0)
        return false;
    if (text[end] == 'T' || text[end] == ' ') {
        const char *rest = text + end + 1;

        end = -1;
        if (sscanf(rest, "%2d:%2d%n", &hour, &minute, &end) != 2 || end < 0)
            return false;
        if (rest[end] == ':') {
            rest += end + 1;
            end = -1;
            if (sscanf(rest, "%2d%n", &second, &end) != 1 || end < 0)
                return false;
        }
        if (rest[end] != '\0')
            return false;
    } else if (text[end] != '\0')
        return false;
    if (month < 1 || month > 12 || day < 1 || day > 31
        || !is_day_time(hour, minute, second))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    *ret_us = make(&tm);
    /* "2026-02-30" would be a day in March. */
    return tm.tm_mon == month - 1;
}

int
since_time_parse(const char *text,
                 int64_t now_us,
                 int64_t *ret_us,
                 struct error *err)
{
    static const char *const words[] = {"now",
                                        "today",
                                        "yesterday",
                                        "midnight"};
    const char *near;
    int64_t us;

    if (timespan_parse(text, &us) == 0)
        us = us < now_us ? now_us - us : 0;
    else if (!read_word(text, now_us, &us) && !read_clock(text, now_us, &us)
             && !read_date(text, &us) && time_parse(text, &us) < 0) {
        near = spelling_nearest(text, words, ARRAY_SIZE(words));
        if (near != NULL)
            return error_set(err,
                             -EINVAL,
                             "'%s' is no time (did you mean '%s'?)",
                             text,
                             near);
        return error_set(err,
                         -EINVAL,
                         "'%s' is no time (such as 2h, 3d, yesterday, 08:30 "
                         "or 2026-01-31)",
                         text);
    }
    if (us > now_us)
        return error_set(err, -EINVAL, "'%s' is yet to come", text);
    *ret_us = us;
    return 0;
}
