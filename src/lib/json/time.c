/* SPDX-License-Identifier: Apache-2.0 */
/* time.c - RFC 3339 times of the wire */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "lib/json/record.h"

void
time_format(int64_t us, bool micro, char out[TIME_TEXT_SIZE])
{
    time_t seconds = (time_t)(us / 1000000);
    long rest = (long)(us % 1000000);
    struct tm tm;
    size_t used;

    if (rest < 0) {
        rest += 1000000;
        seconds--;
    }
    gmtime_r(&seconds, &tm);
    used = strftime(out, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    if (micro)
        snprintf(out + used, TIME_TEXT_SIZE - used, ".%06ldZ", rest);
    else
        snprintf(out + used, TIME_TEXT_SIZE - used, "Z");
}

/* Exactly `digits` digits at *p. */
static int
take_number(const char **p, int digits, int *ret)
{
    int n = 0;

    for (int i = 0; i < digits; i++, (*p)++) {
        if (!isdigit((unsigned char)**p))
            return -EINVAL;
        n = n * 10 + (**p - '0');
    }
    *ret = n;
    return 0;
}

static int
take_char(const char **p, char wanted)
{
    if (**p != wanted)
        return -EINVAL;
    (*p)++;
    return 0;
}

/* ".123456789", as microseconds; further digits are dropped. */
static int
take_fraction(const char **p, int64_t *ret_us)
{
    int64_t us = 0, unit = 100000;

    *ret_us = 0;
    if (**p != '.')
        return 0;
    (*p)++;
    if (!isdigit((unsigned char)**p))
        return -EINVAL;
    for (; isdigit((unsigned char)**p); (*p)++, unit /= 10)
        us += (**p - '0') * unit;
    *ret_us = us;
    return 0;
}

/* "Z" or "+02:00", as seconds east of UTC. */
static int
take_zone(const char **p, int64_t *ret_east)
{
    int hours, minutes;
    bool west = **p == '-';

    *ret_east = 0;
    if (**p == 'Z') {
        (*p)++;
        return 0;
    }
    if (**p != '+' && **p != '-')
        return -EINVAL;
    (*p)++;
    if (take_number(p, 2, &hours) < 0 || take_char(p, ':') < 0
        || take_number(p, 2, &minutes) < 0 || hours > 23 || minutes > 59)
        return -EINVAL;
    *ret_east = (hours * 60 + minutes) * (west ? -60 : 60);
    return 0;
}

int
time_parse(const char *text, int64_t *ret_us)
{
    static const int month_days[] =
        {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct tm tm = {0};
    int64_t fraction, east;
    bool leap;

    if (take_number(&text, 4, &tm.tm_year) < 0 || take_char(&text, '-') < 0
        || take_number(&text, 2, &tm.tm_mon) < 0 || take_char(&text, '-') < 0
        || take_number(&text, 2, &tm.tm_mday) < 0 || take_char(&text, 'T') < 0
        || take_number(&text, 2, &tm.tm_hour) < 0 || take_char(&text, ':') < 0
        || take_number(&text, 2, &tm.tm_min) < 0 || take_char(&text, ':') < 0
        || take_number(&text, 2, &tm.tm_sec) < 0
        || take_fraction(&text, &fraction) < 0 || take_zone(&text, &east) < 0
        || *text != '\0')
        return -EINVAL;
    if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_hour > 23 || tm.tm_min > 59
        || tm.tm_sec > 59)
        return -EINVAL;
    leap =
        (tm.tm_year % 4 == 0 && tm.tm_year % 100 != 0) || tm.tm_year % 400 == 0;
    if (tm.tm_mday < 1
        || tm.tm_mday
               > month_days[tm.tm_mon - 1] + (leap && tm.tm_mon == 2 ? 1 : 0))
        return -EINVAL;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_us = ((int64_t)timegm(&tm) - east) * 1000000 + fraction;
    return 0;
}
