/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/begin_time.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"

#define SECOND INT64_C(1000000)
#define DAY    INT64_C(86400)
#define MOST   (INT64_C(36525) * DAY)

struct begin_time {
    struct tm tm; /* local; begins as today, 00:00 */
    bool has_date;
    bool has_time;
};

static int
refuse(const char *text, struct error *err)
{
    return error_set(err,
                     -EINVAL,
                     "'%s' is no time (such as now+1hour, 16:00, 4:30pm, noon, "
                     "tomorrow, 12/24/26 or 2026-12-24T18:00)",
                     text);
}

/* "+1hour", "+30minutes", "+90" */
static bool
read_offset(const char *p, int64_t *ret_seconds)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {
        {"second", 1},
        {"minute", 60},
        {"hour", 3600},
        {"day", DAY},
        {"week", 7 * DAY},
    };
    int64_t count = 0;
    unsigned digits = 0;

    while (isspace((unsigned char)*p))
        p++;
    for (; isdigit((unsigned char)*p); p++) {
        if (++digits > 10)
            return false;
        count = count * 10 + (*p - '0');
    }
    while (isspace((unsigned char)*p))
        p++;
    *ret_seconds = count;
    if (digits > 0 && *p == '\0')
        return true;
    for (size_t i = 0; digits > 0 && i < ARRAY_SIZE(units); i++) {
        size_t n = strlen(units[i].name);

        if (strncasecmp(p, units[i].name, n) != 0
            || (p[n] != '\0' && strcasecmp(p + n, "s") != 0))
            continue;
        *ret_seconds = count * units[i].seconds;
        return *ret_seconds <= MOST;
    }
    return false;
}

/* Matches a whole text against a scanf format that ends in %n. */
#define matches(text, format, ...)                       \
    (matched = -1,                                       \
     sscanf((text), format "%n", __VA_ARGS__, &matched), \
     matched >= 0 && (text)[matched] == '\0')

static bool
set_date(struct begin_time *m, int year, int month, int day)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (m->has_date || month < 1 || month > 12 || day < 1
        || day > days[month - 1] || (month == 2 && day == 29 && !is_leap)
        || year < 1970 || year > 9999)
        return false;
    m->tm.tm_year = year - 1900;
    m->tm.tm_mon = month - 1;
    m->tm.tm_mday = day;
    m->has_date = true;
    return true;
}

static bool
set_time(struct begin_time *m, int hour, int minute, int second)
{
    if (m->has_time || hour < 0 || hour > 23 || minute < 0 || minute > 59
        || second < 0 || second > 59)
        return false;
    m->tm.tm_hour = hour;
    m->tm.tm_min = minute;
    m->tm.tm_sec = second;
    m->has_time = true;
    return true;
}

static bool
is_digits(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789") == length;
}

/* A date without a year that has passed is next year's. */
static bool
set_day_of_year(struct begin_time *m, int month, int day)
{
    int year = m->tm.tm_year + 1900;

    if (month < m->tm.tm_mon + 1
        || (month == m->tm.tm_mon + 1 && day < m->tm.tm_mday))
        year++;
    return set_date(m, year, month, day);
}

static bool
read_date(struct begin_time *m, const char *word)
{
    int matched = 0;
    int a = 0;
    int b = 0;
    int c = 0;

    if (strcasecmp(word, "today") == 0)
        return set_date(m,
                        m->tm.tm_year + 1900,
                        m->tm.tm_mon + 1,
                        m->tm.tm_mday);
    if (strcasecmp(word, "tomorrow") == 0) {
        if (m->has_date)
            return false;
        m->tm.tm_mday++; /* mktime carries it into the next month */
        return m->has_date = true;
    }
    if (matches(word, "%4d-%2d-%2d", &a, &b, &c))
        return set_date(m, a, b, c);
    if (matches(word, "%2d/%2d/%2d", &a, &b, &c)
        || matches(word, "%2d.%2d.%2d", &a, &b, &c)
        || (is_digits(word, 6) && matches(word, "%2d%2d%2d", &a, &b, &c)))
        return set_date(m, c + 2000, a, b);
    if (matches(word, "%2d/%2d", &a, &b) || matches(word, "%2d.%2d", &a, &b)
        || (is_digits(word, 4) && matches(word, "%2d%2d", &a, &b)))
        return set_day_of_year(m, a, b);
    return false;
}

/* "am", "pm" or nothing; with either, hours go from 1 to 12. */
static bool
set_half_day(struct begin_time *m,
             int hour,
             int minute,
             int second,
             const char *half)
{
    if (half[0] == '\0')
        return set_time(m, hour, minute, second);
    if (hour < 1 || hour > 12)
        return false;
    if (strcasecmp(half, "am") == 0)
        return set_time(m, hour % 12, minute, second);
    if (strcasecmp(half, "pm") == 0)
        return set_time(m, hour % 12 + 12, minute, second);
    return false;
}

static bool
read_time(struct begin_time *m, const char *word)
{
    static const struct {
        const char *name;
        int hour;
    } names[] = {
        {"midnight", 0},
        {"elevenses", 11},
        {"noon", 12},
        {"fika", 15},
        {"teatime", 16},
    };
    char half[3] = "";
    int matched = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcasecmp(word, names[i].name) == 0)
            return set_time(m, names[i].hour, 0, 0);
    if (!isdigit((unsigned char)word[0]))
        return false;
    if (matches(word, "%2d:%2d:%2d", &hour, &minute, &second)
        || matches(word,
                   "%2d:%2d:%2d%2[apmAPM]",
                   &hour,
                   &minute,
                   &second,
                   half))
        return set_half_day(m, hour, minute, second, half);
    second = 0;
    half[0] = '\0';
    if (matches(word, "%2d:%2d", &hour, &minute)
        || matches(word, "%2d:%2d%2[apmAPM]", &hour, &minute, half))
        return set_half_day(m, hour, minute, 0, half);
    return false;
}

/* Cuts the next word off, at a space or at the T between date and time. */
static char *
next_word(char **rest)
{
    char *word = *rest;
    char *end;

    while (*word == ' ')
        word++;
    if (*word == '\0')
        return NULL;
    for (end = word; *end != '\0' && *end != ' '; end++)
        if ((*end == 'T' || *end == 't') && end > word
            && isdigit((unsigned char)end[-1])
            && isdigit((unsigned char)end[1]))
            break;
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

/* "4:30 pm": the half of the day behind the time. */
static bool
read_half(struct begin_time *m, const char *word)
{
    int hour = m->tm.tm_hour;

    if (!m->has_time
        || (strcasecmp(word, "am") != 0 && strcasecmp(word, "pm") != 0))
        return false;
    m->has_time = false;
    return set_half_day(m, hour, m->tm.tm_min, m->tm.tm_sec, word);
}

static bool
read_words(struct begin_time *m, char *text)
{
    char *word;
    bool any = false;

    while ((word = next_word(&text)) != NULL) {
        any = true;
        if (!read_time(m, word) && !read_half(m, word) && !read_date(m, word))
            return false;
    }
    return any;
}

/* A day that the calendar has not, or a time that the clocks leave out when
 * summer time begins, would become another one.
 */
static int
make_time(const char *text, struct tm tm, time_t *ret_time, struct error *err)
{
    struct tm noon = tm, made;

    noon.tm_hour = 12;
    noon.tm_min = noon.tm_sec = 0;
    noon.tm_isdst = tm.tm_isdst = -1;
    (void)mktime(&noon); /* "tomorrow" may be in the next month */
    made = tm;
    *ret_time = mktime(&made);
    if (made.tm_mday == noon.tm_mday && made.tm_hour == tm.tm_hour
        && made.tm_min == tm.tm_min)
        return 0;
    return error_set(err,
                     -EINVAL,
                     "'%s': there is no %02d:%02d on that day, when clocks are "
                     "set forward; %02d:%02d is as late",
                     text,
                     tm.tm_hour,
                     tm.tm_min,
                     made.tm_hour,
                     made.tm_min);
}

static int
parse_calendar(const char *text,
               time_t now,
               time_t *ret_time,
               struct error *err)
{
    struct begin_time m = {0};
    char copy[64];
    time_t at;
    int r;

    if (strlen(text) >= sizeof(copy))
        return refuse(text, err);
    memcpy(copy, text, strlen(text) + 1);
    localtime_r(&now, &m.tm);
    m.tm.tm_hour = m.tm.tm_min = m.tm.tm_sec = 0;
    m.tm.tm_isdst = -1;
    if (!read_words(&m, copy))
        return refuse(text, err);
    r = make_time(text, m.tm, &at, err);
    if (!m.has_date && (r < 0 || at < now)) {
        m.tm.tm_mday++;
        r = make_time(text, m.tm, &at, err);
    }
    *ret_time = at;
    return r;
}

int
begin_time_parse(const char *text,
                 int64_t now_us,
                 int64_t *ret_us,
                 struct error *err)
{
    int64_t offset = 0;
    time_t at = 0;
    int r;

    if (strcasecmp(text, "now") == 0) {
        *ret_us = now_us;
        return 0;
    }
    if (strncasecmp(text, "now+", 4) == 0) {
        if (!read_offset(text + 4, &offset))
            return refuse(text, err);
        *ret_us = now_us + offset * SECOND;
        return 0;
    }
    r = parse_calendar(text, (time_t)(now_us / SECOND), &at, err);
    if (r < 0)
        return r;
    *ret_us = (int64_t)at * SECOND;
    return 0;
}
