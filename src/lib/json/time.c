/* SPDX-License-Identifier: Apache-2.0 */
/* time.c - RFC 3339 times of the API */
#include <ctype.h>
#include <errno.h>

#include "lib/json/record.h"

/* The years of four digits, which Go's encoder accepts too. */
#define FIRST_US (INT64_C(-62167219200) * 1000000)
#define LAST_US  (INT64_C(253402300800) * 1000000 - 1)

/* Days since 1970 of a date of the Gregorian calendar, and back. Years begin in
 * March, so that a leap day is the last day of its year.
 * Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 */
static int64_t
days_from_date(int64_t year, int month, int day)
{
    int64_t era, of_era;

    year -= month <= 2;
    era = (year >= 0 ? year : year - 399) / 400;
    year -= era * 400;
    of_era = year * 365 + year / 4 - year / 100 + (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5
             + day - 1;
    return era * 146097 + of_era - 719468;
}

static void
date_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t era, of_era, year, of_year, month;

    days += 719468;
    era = (days >= 0 ? days : days - 146096) / 146097;
    of_era = days - era * 146097;
    year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    of_year = of_era - (365 * year + year / 4 - year / 100);
    month = (5 * of_year + 2) / 153;
    *ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = year + era * 400 + (*ret_month <= 2);
}

/* Writes that many digits and the character `behind`. */
static char *
put(char *out, int64_t number, int digits, char behind)
{
    for (int i = digits - 1; i >= 0; i--, number /= 10)
        out[i] = (char)('0' + number % 10);
    out[digits] = behind;
    return out + digits + 1;
}

void
time_format(int64_t us, bool micro, char out[TIME_TEXT_SIZE])
{
    int64_t seconds, rest, of_day, year;
    int month, day;

    us = us < FIRST_US ? FIRST_US : us > LAST_US ? LAST_US : us;
    seconds = us / 1000000;
    rest = us % 1000000;
    if (rest < 0) {
        rest += 1000000;
        seconds--;
    }
    of_day = (seconds % 86400 + 86400) % 86400;
    date_from_days((seconds - of_day) / 86400, &year, &month, &day);
    out = put(out, year, 4, '-');
    out = put(out, month, 2, '-');
    out = put(out, day, 2, 'T');
    out = put(out, of_day / 3600, 2, ':');
    out = put(out, of_day / 60 % 60, 2, ':');
    out = put(out, of_day % 60, 2, micro ? '.' : 'Z');
    if (micro)
        out = put(out, rest, 6, 'Z');
    *out = '\0';
}

/* Reads exactly `digits` digits at *p. */
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

/* Reads ".123456789" as microseconds; further digits are ignored. */
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

/* Reads "Z" or "+02:00" as seconds east of UTC. */
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
    if (take_number(p, 2, &hours) < 0 || take_char(p, ':') < 0 || take_number(p, 2, &minutes) < 0
        || hours > 23 || minutes > 59)
        return -EINVAL;
    *ret_east = (hours * 60 + minutes) * (west ? -60 : 60);
    return 0;
}

int
time_parse(const char *text, int64_t *ret_us)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, hour, minute, second;
    int64_t fraction, east, us;
    bool leap;

    if (take_number(&text, 4, &year) < 0 || take_char(&text, '-') < 0
        || take_number(&text, 2, &month) < 0 || take_char(&text, '-') < 0
        || take_number(&text, 2, &day) < 0 || take_char(&text, 'T') < 0
        || take_number(&text, 2, &hour) < 0 || take_char(&text, ':') < 0
        || take_number(&text, 2, &minute) < 0 || take_char(&text, ':') < 0
        || take_number(&text, 2, &second) < 0 || take_fraction(&text, &fraction) < 0
        || take_zone(&text, &east) < 0 || *text != '\0')
        return -EINVAL;
    if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59)
        return -EINVAL;
    leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day < 1 || day > month_days[month - 1] + (leap && month == 2 ? 1 : 0))
        return -EINVAL;
    us = (days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - east)
             * 1000000
         + fraction;
    if (us < FIRST_US || us > LAST_US)
        return -EINVAL;
    *ret_us = us;
    return 0;
}
