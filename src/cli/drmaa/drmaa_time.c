/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drmaa/drmaa_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t
time_now(void)
{
    return time(NULL);
}

/* A number of up to `digits` digits; *text is then behind it. -1: there is none. */
static int
take_number(const char **text, int digits)
{
    int value = -1;
    for (; digits > 0 && isdigit((unsigned char)**text); digits--, ++*text)
        value = (value < 0 ? 0 : value * 10) + (**text - '0');
    return isdigit((unsigned char)**text) ? -1 : value;
}

static bool
take_date(const char **text, int date[3], int *ret_count)
{
    *ret_count = 0;
    size_t length = strcspn(*text, " \t");
    if (memchr(*text, ':', length) != NULL)
        return true; /* a time of day */
    for (int i = 0; i < 3; i++) {
        date[i] = take_number(text, i == 0 ? 4 : 2);
        if (date[i] < 0)
            return false;
        ++*ret_count;
        if (**text != '/')
            break;
        ++*text;
    }
    if (**text != ' ' && **text != '\t')
        return false;
    *text += strspn(*text, " \t");
    return true;
}

static bool
take_offset(const char **text, int *ret_seconds)
{
    int sign = **text == '-' ? -1 : 1;
    ++*text;
    int hours = take_number(text, 2);
    if (**text != ':' || hours < 0 || hours > 14)
        return false;
    ++*text;
    int minutes = take_number(text, 2);
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return minutes >= 0 && minutes < 60 && **text == '\0';
}

/* -1 if there is no such day. */
static int64_t
to_seconds(struct tm tm, bool has_offset, int offset)
{
    struct tm norm = tm;
    norm.tm_isdst = -1;
    int64_t seconds = has_offset ? timegm(&norm) - offset : mktime(&norm);
    return norm.tm_mday == tm.tm_mday ? seconds : -1;
}

bool
time_parse(const char *text, int64_t now, int64_t *ret_time)
{
    int date[3], count, offset = 0;
    if (!take_date(&text, date, &count))
        return false;
    int hour = take_number(&text, 2);
    if (hour < 0 || hour > 23 || *text++ != ':')
        return false;
    int minute = take_number(&text, 2), second = 0;
    if (*text == ':') {
        text++;
        second = take_number(&text, 2);
    }
    if (minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    text += strspn(text, " \t");
    bool has_offset = *text == '-' || *text == '+';
    if (has_offset ? !take_offset(&text, &offset) : *text != '\0')
        return false;

    struct tm tm;
    time_t zoned = (time_t)(now + offset);
    if ((has_offset ? gmtime_r(&zoned, &tm) : localtime_r(&zoned, &tm)) == NULL)
        return false;
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    if (count >= 1)
        tm.tm_mday = date[count - 1];
    if (count >= 2)
        tm.tm_mon = date[count - 2] - 1;
    if (count == 3)
        tm.tm_year = date[0] >= 100 ? date[0] - 1900 : date[0] < 69 ? date[0] + 100 : date[0];
    if (tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_mon < 0 || tm.tm_mon > 11)
        return false;
    int64_t seconds = -1;
    /* Eight: 29 February may be that many years away. */
    for (int tries = 0; tries < (count == 3 ? 1 : count == 2 ? 9 : 13); tries++) {
        if (count == 0) {
            struct tm day = tm;
            day.tm_mday += tries;
            day.tm_isdst = -1;
            seconds = has_offset ? timegm(&day) - offset : mktime(&day);
        } else {
            struct tm day = tm;
            if (count == 1) {
                day.tm_year += (tm.tm_mon + tries) / 12;
                day.tm_mon = (tm.tm_mon + tries) % 12;
            } else if (count == 2)
                day.tm_year += tries;
            seconds = to_seconds(day, has_offset, offset);
        }
        if (seconds >= now || (count == 3 && seconds >= 0))
            break;
        seconds = -1;
    }
    *ret_time = seconds;
    return seconds >= 0;
}

bool
duration_parse(const char *text, int64_t *ret_seconds)
{
    int64_t seconds = 0;
    for (int parts = 0; parts < 3; parts++) {
        int number = take_number(&text, 9);
        if (number < 0)
            return false;
        seconds = seconds * 60 + number;
        if (*text == '\0') {
            *ret_seconds = seconds;
            return seconds > 0;
        }
        if (*text++ != ':')
            return false;
    }
    return false;
}
