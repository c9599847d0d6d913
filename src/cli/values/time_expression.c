/* SPDX-License-Identifier: Apache-2.0 */
/* "16:00" or "monday" matches many days, and which is meant depends on the question: --begin
 * looks ahead, --starttime of history looks back. So a text gives a point and how it repeats,
 * and the direction chooses. Clocks change: a local time that does not exist is refused, and
 * one that occurs twice is decided by the direction.
 */
#include "cli/values/time_expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
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
#define DAY    INT64_C(86400)
#define MOST   (INT64_C(36525) * DAY)

/* ---- Offsets ---- */

/* "1hour", "30 minutes", "90", "2h", "1h30m" */
static bool
read_span(const char *p, int64_t *ret_us)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {
        {"", 1},      {"second", 1},     {"minute", 60}, {"hour", 3600},
        {"day", DAY}, {"week", 7 * DAY}, {"w", 7 * DAY},
    };
    const char *const whole = p;
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
    for (size_t i = 0; digits > 0 && i < ARRAY_SIZE(units); i++) {
        const size_t n = strlen(units[i].name);

        if (strncasecmp(p, units[i].name, n) != 0
            || (p[n] != '\0' && (n < 2 || strcasecmp(p + n, "s") != 0)))
            continue;
        if (count * units[i].seconds > MOST)
            return false;
        *ret_us = count * units[i].seconds * SECOND;
        return true;
    }
    return timespan_parse(whole, ret_us) == 0 && *ret_us <= MOST * SECOND;
}

/* "now", "now+1hour", "+2h", "-7d"; unless the direction is ahead also "2h". */
static bool
read_offset(const char *text, enum time_direction direction, int64_t now_us, int64_t *ret_us)
{
    const bool has_now = strncasecmp(text, "now", 3) == 0;
    const char *rest = has_now ? text + 3 : text;
    int64_t us;

    if (has_now && *rest == '\0') {
        *ret_us = now_us;
        return true;
    }
    if (*rest == '+' || *rest == '-') {
        if (!read_span(rest + 1, &us))
            return false;
    } else if (has_now || direction == TIME_AHEAD || timespan_parse(text, &us) < 0)
        return false;
    if (*rest == '+')
        *ret_us = now_us + us;
    else
        *ret_us = us < now_us ? now_us - us : 0;
    return true;
}

/* ---- Days and times ---- */

/* Which of the days that match the text is meant. */
enum repeat {
    REPEAT_NEVER,  /* only one day matches */
    REPEAT_DAILY,  /* only a time of day */
    REPEAT_WEEKLY, /* "monday" */
    REPEAT_NEXT,   /* "next monday" */
    REPEAT_LAST,   /* "last monday" */
    REPEAT_YEARLY, /* "12/24" */
};

struct time_words {
    enum time_direction direction;
    struct tm today; /* local */
    struct tm tm;    /* starts as today, 00:00 */
    bool has_date;
    bool has_time;
    enum repeat repeat;
};

static const char *const weekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                       "thursday", "friday", "saturday"};

static const struct {
    const char *name;
    int hour;
} hours[] = {
    {"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16},
};

/* ---- Refusals ---- */

static const char *
nearest_word(const char *text)
{
    static const char *const words[] = {
        "now",    "today",   "tomorrow",  "yesterday", "midnight", "noon",
        "fika",   "teatime", "elevenses", "sunday",    "monday",   "tuesday",
        "friday", "next",    "wednesday", "thursday",  "saturday", "last",
    };
    char first[24];
    const size_t length = strcspn(text, " ");

    if (length == 0 || length >= sizeof(first) || isdigit((unsigned char)text[0]))
        return NULL;
    memcpy(first, text, length);
    first[length] = '\0';
    return spelling_nearest(first, words, ARRAY_SIZE(words));
}

static int
refuse(const char *text, enum time_direction direction, struct error *err)
{
    const char *near = nearest_word(text);
    int64_t us;

    if (timespan_parse(text, &us) == 0 && direction == TIME_AHEAD)
        return error_set(err, -EINVAL, "'%s' is not a time (did you mean 'now+%s'?)", text, text);
    if (near != NULL && strncasecmp(near, text, strlen(near)) != 0)
        return error_set(err, -EINVAL, "'%s' is not a time (did you mean '%s'?)", text, near);
    return error_set(err, -EINVAL,
                     "'%s' is not a time (such as %s, 16:00, 4:30pm, noon, "
                     "%s, monday, 12/24/26 or 2026-12-24T18:00)",
                     text, direction == TIME_AHEAD ? "now+1hour" : "2h, 3d",
                     direction == TIME_AHEAD ? "tomorrow" : "yesterday");
}

/* ---- Days ---- */

/* Matches a whole text against a scanf format that ends in %n. */
#define matches(text, format, ...)                                     \
    (matched = -1, sscanf((text), format "%n", __VA_ARGS__, &matched), \
     matched >= 0 && (text)[matched] == '\0')

static bool
set_date(struct time_words *w, int year, int month, int day)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    if (w->has_date || month < 1 || month > 12 || day < 1 || day > days[month - 1]
        || (month == 2 && day == 29 && !is_leap) || year < 1970 || year > 9999)
        return false;
    w->tm.tm_year = year - 1900;
    w->tm.tm_mon = month - 1;
    w->tm.tm_mday = day;
    w->has_date = true;
    return true;
}

/* mktime carries a day that is out of range into another month. */
static bool
set_day_from_today(struct time_words *w, int days)
{
    if (w->has_date)
        return false;
    w->tm.tm_mday += days;
    return w->has_date = true;
}

/* A date without a year */
static bool
set_day_of_year(struct time_words *w, int month, int day)
{
    if (!set_date(w, w->today.tm_year + 1900, month, day))
        return false;
    w->repeat = REPEAT_YEARLY;
    return true;
}

static bool
is_digits(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789") == length;
}

/* "monday", "mon": sets that day of this week; which week is meant is decided
 * later.
 */
static bool
read_weekday(struct time_words *w, const char *word)
{
    const size_t length = strlen(word);

    for (int i = 0; length >= 3 && i < (int)ARRAY_SIZE(weekdays); i++) {
        if (strncasecmp(word, weekdays[i], length) != 0
            || (length > 4 && weekdays[i][length] != '\0'))
            continue;
        if (!set_day_from_today(w, (i - w->today.tm_wday + 7) % 7))
            return false;
        if (w->repeat == REPEAT_NEVER)
            w->repeat = REPEAT_WEEKLY;
        return true;
    }
    return false;
}

static bool
read_date(struct time_words *w, const char *word)
{
    int matched;
    int a = 0;
    int b = 0;
    int c = 0;

    if (strcasecmp(word, "today") == 0)
        return set_day_from_today(w, 0);
    if (strcasecmp(word, "tomorrow") == 0)
        return set_day_from_today(w, 1);
    if (strcasecmp(word, "yesterday") == 0)
        return set_day_from_today(w, -1);
    if (matches(word, "%4d-%2d-%2d", &a, &b, &c))
        return set_date(w, a, b, c);
    if (matches(word, "%2d/%2d/%2d", &a, &b, &c) || matches(word, "%2d.%2d.%2d", &a, &b, &c)
        || (is_digits(word, 6) && matches(word, "%2d%2d%2d", &a, &b, &c)))
        return set_date(w, c + 2000, a, b);
    if (matches(word, "%2d/%2d", &a, &b) || matches(word, "%2d.%2d", &a, &b)
        || (is_digits(word, 4) && matches(word, "%2d%2d", &a, &b)))
        return set_day_of_year(w, a, b);
    return read_weekday(w, word);
}

/* ---- Times of a day ---- */

static bool
set_time(struct time_words *w, int hour, int minute, int second)
{
    if (w->has_time || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0
        || second > 59)
        return false;
    w->tm.tm_hour = hour;
    w->tm.tm_min = minute;
    w->tm.tm_sec = second;
    w->has_time = true;
    return true;
}

/* "am", "pm" or nothing; with "am" or "pm", hours are 1 to 12. */
static bool
set_half_day(struct time_words *w, int hour, int minute, int second, const char *half)
{
    if (half[0] == '\0')
        return set_time(w, hour, minute, second);
    if (hour < 1 || hour > 12)
        return false;
    if (strcasecmp(half, "am") == 0)
        return set_time(w, hour % 12, minute, second);
    if (strcasecmp(half, "pm") == 0)
        return set_time(w, hour % 12 + 12, minute, second);
    return false;
}

static bool
read_time(struct time_words *w, const char *word)
{
    char half[3] = "";
    int matched = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;

    for (size_t i = 0; i < ARRAY_SIZE(hours); i++)
        if (strcasecmp(word, hours[i].name) == 0)
            return set_time(w, hours[i].hour, 0, 0);
    if (!isdigit((unsigned char)word[0]))
        return false;
    if (matches(word, "%2d:%2d:%2d", &hour, &minute, &second)
        || matches(word, "%2d:%2d:%2d%2[apmAPM]", &hour, &minute, &second, half))
        return set_half_day(w, hour, minute, second, half);
    half[0] = '\0';
    if (matches(word, "%2d:%2d", &hour, &minute)
        || matches(word, "%2d:%2d%2[apmAPM]", &hour, &minute, half))
        return set_half_day(w, hour, minute, 0, half);
    half[0] = '\0';
    if (matches(word, "%2d%2[apmAPM]", &hour, half))
        return set_half_day(w, hour, 0, 0, half);
    return false;
}

/* "4:30 pm": the half of the day in a separate word. */
static bool
read_half(struct time_words *w, const char *word)
{
    int hour = w->tm.tm_hour;

    if (!w->has_time || (strcasecmp(word, "am") != 0 && strcasecmp(word, "pm") != 0))
        return false;
    w->has_time = false;
    return set_half_day(w, hour, w->tm.tm_min, w->tm.tm_sec, word);
}

/* ---- The whole text ---- */

/* Splits off the next word, at a space or at the T between date and time. */
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
        if ((*end == 'T' || *end == 't') && end > word && isdigit((unsigned char)end[-1])
            && isdigit((unsigned char)end[1]))
            break;
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

/* "next monday", "last monday" */
static bool
read_which(struct time_words *w, const char *word, char **rest)
{
    char *day;

    if (strcasecmp(word, "next") == 0)
        w->repeat = REPEAT_NEXT;
    else if (strcasecmp(word, "last") == 0)
        w->repeat = REPEAT_LAST;
    else
        return false;
    day = next_word(rest);
    return day != NULL && read_weekday(w, day);
}

static bool
read_words(struct time_words *w, char *text)
{
    char *word;
    bool any = false;

    while ((word = next_word(&text)) != NULL) {
        any = true;
        if (!read_time(w, word) && !read_half(w, word) && !read_date(w, word)
            && !read_which(w, word, &text))
            return false;
    }
    if (!w->has_date)
        w->repeat = REPEAT_DAILY;
    return any;
}

/* If a local time occurs twice, as when summer time ends, the direction decides
 * which one is meant.
 */
static bool
make_twice(const struct time_words *w, struct tm tm, int day, time_t now, time_t *ret)
{
    time_t found[2];
    unsigned n = 0;

    for (int dst = 1; dst >= 0; dst--) {
        struct tm made = tm;
        time_t at;

        made.tm_isdst = dst;
        at = mktime(&made);
        if (made.tm_mday == day && made.tm_hour == tm.tm_hour && made.tm_min == tm.tm_min
            && (n == 0 || found[0] != at))
            found[n++] = at;
    }
    if (n == 0)
        return false;
    *ret = found[0];
    if (n == 2 && (w->direction == TIME_AHEAD ? found[0] < now : found[1] <= now))
        *ret = found[1];
    return true;
}

/* A local time that is skipped when summer time begins is refused, because
 * mktime would change it to another time.
 */
static int
make_time(const char *text, const struct time_words *w, struct tm tm, time_t now, time_t *ret_time,
          struct error *err)
{
    struct tm noon = tm, made;

    noon.tm_hour = 12;
    noon.tm_min = noon.tm_sec = 0;
    noon.tm_isdst = tm.tm_isdst = -1;
    (void)mktime(&noon); /* "tomorrow" may be in the next month */
    if (make_twice(w, tm, noon.tm_mday, now, ret_time))
        return 0;
    made = tm;
    *ret_time = mktime(&made);
    return error_set(err, -EINVAL,
                     "'%s': there is no %02d:%02d on that day, because clocks "
                     "are set forward; use %02d:%02d instead",
                     text, tm.tm_hour, tm.tm_min, made.tm_hour, made.tm_min);
}

/* Moves to the previous or next day that matches too. */
static void
move(struct time_words *w, int sign)
{
    switch (w->repeat) {
    case REPEAT_DAILY:
        w->tm.tm_mday += sign;
        return;
    case REPEAT_WEEKLY:
    case REPEAT_NEXT:
    case REPEAT_LAST:
        w->tm.tm_mday += 7 * sign;
        return;
    case REPEAT_YEARLY:
    case REPEAT_NEVER:
        return;
    }
}

/* 29 February exists only in leap years. */
static bool
move_year(struct time_words *w, int sign)
{
    w->has_date = false;
    return set_date(w, w->tm.tm_year + 1900 + sign, w->tm.tm_mon + 1, w->tm.tm_mday);
}

/* Whether a date without year and time is in another year. */
static bool
is_other_year(const struct time_words *w)
{
    const int day = w->tm.tm_mon * 32 + w->tm.tm_mday;
    const int today = w->today.tm_mon * 32 + w->today.tm_mday;

    return w->direction == TIME_AHEAD ? day < today : day > today;
}

/* Whether the text matches a time of each day or week. */
static bool
is_recurring(const struct time_words *w)
{
    return w->repeat == REPEAT_DAILY || w->repeat == REPEAT_WEEKLY;
}

static int
choose(const char *text, struct time_words *w, time_t now, time_t *ret_time, struct error *err)
{
    const int sign = w->direction == TIME_AHEAD ? 1 : -1;
    const bool is_today = w->tm.tm_mday == w->today.tm_mday;
    int r;

    if (w->repeat == REPEAT_NEXT && is_today)
        move(w, 1);
    if (w->repeat == REPEAT_LAST)
        move(w, -1);
    if (w->repeat == REPEAT_YEARLY && is_other_year(w) && !move_year(w, sign))
        return refuse(text, w->direction, err);
    r = make_time(text, w, w->tm, now, ret_time, err);
    if (!is_recurring(w) || (r == 0 && (sign > 0 ? *ret_time >= now : *ret_time <= now)))
        return r;
    move(w, sign);
    return make_time(text, w, w->tm, now, ret_time, err);
}

static int
parse_calendar(const char *text, enum time_direction direction, time_t now, time_t *ret_time,
               bool *ret_recurs, struct error *err)
{
    struct time_words w = {.direction = direction};
    char copy[64];

    if (strlen(text) >= sizeof(copy))
        return refuse(text, direction, err);
    memcpy(copy, text, strlen(text) + 1);
    localtime_r(&now, &w.today);
    w.tm = w.today;
    w.tm.tm_hour = w.tm.tm_min = w.tm.tm_sec = 0;
    if (!read_words(&w, copy))
        return refuse(text, direction, err);
    *ret_recurs = is_recurring(&w);
    return choose(text, &w, now, ret_time, err);
}

static int
parse(const char *text, enum time_direction direction, int64_t now_us, int64_t *ret_us,
      bool *ret_recurs, struct error *err)
{
    time_t at = 0;
    int r;

    *ret_recurs = false;
    if (read_offset(text, direction, now_us, ret_us) || time_parse(text, ret_us) == 0)
        return 0;
    r = parse_calendar(text, direction, (time_t)(now_us / SECOND), &at, ret_recurs, err);
    if (r == 0)
        *ret_us = (int64_t)at * SECOND;
    return r;
}

int
time_expression_parse(const char *text, enum time_direction direction, int64_t now_us,
                      int64_t *ret_us, struct error *err)
{
    int64_t us = 0;
    bool recurs;
    int r = parse(text, direction, now_us, &us, &recurs, err);

    if (r < 0)
        return r;
    if (direction == TIME_BACK && us > now_us)
        return error_set(err, -EINVAL, "'%s' is in the future", text);
    *ret_us = us;
    return 0;
}

int
time_expression_parse_after(const char *text, int64_t now_us, int64_t start_us, int64_t *ret_us,
                            struct error *err)
{
    int64_t us = 0;
    bool recurs;
    int r = parse(text, TIME_AHEAD, now_us, &us, &recurs, err);

    if (r == 0 && recurs && us <= start_us)
        r = parse(text, TIME_AHEAD, start_us + SECOND, &us, &recurs, err);
    if (r == 0)
        *ret_us = us;
    return r;
}
