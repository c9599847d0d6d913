/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"

#define MINUTE    60
#define HOUR      (60 * MINUTE)
#define DAY       (24 * HOUR)
#define SECOND_US INT64_C(1000000)
#define MOST      (INT64_C(36525) * DAY) /* a hundred years */

/* Reads up to three numbers separated by colons. False: the text is something
 * else.
 */
static bool
read_numbers(const char *text, int64_t numbers[3], unsigned *ret_count)
{
    unsigned count = 0;

    for (;;) {
        int64_t value = 0;
        unsigned digits = 0;

        while (isdigit((unsigned char)*text)) {
            if (++digits > 12)
                return false;
            value = value * 10 + (*text++ - '0');
        }
        if (digits == 0 || count == 3)
            return false;
        numbers[count++] = value;
        if (*text == '\0')
            break;
        if (*text++ != ':')
            return false;
    }
    *ret_count = count;
    return true;
}

static int
refuse(const char *text, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is not a time (minutes, mm:ss, hh:mm:ss, d-hh, "
                     "d-hh:mm, d-hh:mm:ss, 90s, 30m, 1h30m, 2d or unlimited)",
                     text);
}

/* After days the first number is hours. Without days, one number is minutes and
 * two are minutes and seconds.
 */
static int64_t
seconds_of(const int64_t n[3], unsigned count, bool has_days)
{
    if (has_days || count == 3)
        return n[0] * HOUR + n[1] * MINUTE + n[2];
    return n[0] * MINUTE + n[1];
}

static bool
is_unlimited(const char *text)
{
    return strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinite") == 0;
}

/* 90s, 30m, 1h30m; a part of a second counts as one. "0s" is refused, because 0
 * means no limit.
 */
static int
read_units(const char *text, int64_t *ret_seconds)
{
    int64_t us = 0;
    int r;

    if (!isdigit((unsigned char)text[0]) || isdigit((unsigned char)text[strlen(text) - 1]))
        return -EINVAL;
    r = timespan_parse(text, &us);
    if (r < 0 || us == 0)
        return r < 0 ? r : -EINVAL;
    *ret_seconds = us / SECOND_US + (us % SECOND_US > 0);
    return 0;
}

int
duration_parse(const char *text, int64_t *ret_seconds, struct error *err)
{
    int64_t numbers[3] = {0};
    int64_t days = 0;
    unsigned digits = 0;
    unsigned count = 0;
    const char *p = text;
    bool has_days;
    int64_t seconds = 0;
    int r;

    if (is_unlimited(text)) {
        *ret_seconds = DURATION_UNLIMITED;
        return 0;
    }
    while (isdigit((unsigned char)*p) && digits++ < 9)
        days = days * 10 + (*p++ - '0');
    has_days = digits > 0 && *p == '-';
    r = read_units(text, &seconds);
    if (r == -EINVAL) {
        if (!read_numbers(has_days ? p + 1 : text, numbers, &count))
            return refuse(text, err);
        seconds = seconds_of(numbers, count, has_days);
        if (has_days)
            seconds += days * DAY;
    }
    if (r == -ERANGE || seconds > MOST)
        return error_set(err, -ERANGE,
                         "'%s' is more than a hundred years; 'unlimited' "
                         "means no limit",
                         text);
    *ret_seconds = seconds;
    return 0;
}

void
duration_format(int64_t seconds, struct strbuf *out)
{
    if (seconds == DURATION_UNLIMITED) {
        strbuf_add_text(out, "unlimited");
        return;
    }
    if (seconds >= DAY)
        strbuf_printf(out, "%" PRId64 "-%02d:", seconds / DAY, (int)(seconds % DAY / HOUR));
    else
        strbuf_printf(out, "%d:", (int)(seconds / HOUR));
    strbuf_printf(out, "%02d:%02d", (int)(seconds % HOUR / MINUTE), (int)(seconds % MINUTE));
}

void
duration_format_brief(int64_t s, char out[DURATION_BRIEF_SIZE])
{
    if (s < 0)
        s = 0;
    if (s >= DAY)
        snprintf(out, DURATION_BRIEF_SIZE, "%" PRId64 "-%02d:%02d:%02d", s / DAY,
                 (int)(s % DAY / HOUR), (int)(s % HOUR / MINUTE), (int)(s % MINUTE));
    else if (s >= HOUR)
        snprintf(out, DURATION_BRIEF_SIZE, "%d:%02d:%02d", (int)(s / HOUR),
                 (int)(s % HOUR / MINUTE), (int)(s % MINUTE));
    else
        snprintf(out, DURATION_BRIEF_SIZE, "%d:%02d", (int)(s / MINUTE), (int)(s % MINUTE));
}
