/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_time.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/values/time_expression.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define SECOND_US INT64_C(1000000)
#define DAY_S     86400

/* ---- Output ---- */

static int64_t
day_of(const struct tm *tm)
{
    struct tm day = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};

    return timegm(&day) / DAY_S;
}

static const char *
relative_format(const struct tm *at)
{
    const time_t now = (time_t)(clock_real_us(&clock_system) / SECOND_US);
    struct tm today = {0};
    int64_t days;

    localtime_r(&now, &today);
    days = day_of(at) - day_of(&today);
    if (days == 0)
        return "%H:%M:%S";
    if (days == -1)
        return "Ystday %H:%M";
    if (days == 1)
        return "Tomorr %H:%M";
    if (days > -7 && days < 7)
        return "%a %H:%M";
    return at->tm_year == today.tm_year ? "%-d %b %H:%M" : "%-d %b %Y";
}

void
slurm_time_add(int64_t us, struct strbuf *out)
{
    const char *format = getenv("SLURM_TIME_FORMAT");
    const time_t at = (time_t)(us / SECOND_US);
    struct tm local = {0};
    char text[256];
    size_t length;

    localtime_r(&at, &local);
    if (format == NULL || format[0] == '\0' || strcmp(format, "standard") == 0)
        format = "%Y-%m-%dT%H:%M:%S";
    else if (strcmp(format, "relative") == 0)
        format = relative_format(&local);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    length = strftime(text, sizeof(text), format, &local);
#pragma GCC diagnostic pop
    strbuf_add(out, text, length);
}

void
slurm_time_add_length(int64_t seconds, struct strbuf *out)
{
    char text[DURATION_BRIEF_SIZE];

    duration_format_brief(seconds, text);
    strbuf_add_text(out, text);
}

void
slurm_time_add_elapsed(int64_t s, struct strbuf *out)
{
    if (s < 0)
        s = 0;
    if (s >= DAY_S)
        strbuf_printf(out, "%" PRId64 "-", s / DAY_S);
    strbuf_printf(out, "%02d:%02d:%02d", (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60));
}

void
slurm_time_add_cpu(int64_t us, struct strbuf *out)
{
    const int64_t s = us / SECOND_US;

    if (s >= 3600)
        slurm_time_add_elapsed(s, out);
    else
        strbuf_printf(out, "%02d:%02d.%03d", (int)(s / 60), (int)(s % 60), (int)(us / 1000 % 1000));
}

void
slurm_time_print_date(void)
{
    const time_t now = time(NULL);
    struct tm local = {0};
    char text[64];

    localtime_r(&now, &local);
    (void)strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &local);
    printf("%s\n", text);
}

/* ---- Input ---- */

static bool
take_number(const char **at, int most_digits, int *ret)
{
    int n = 0, digits = 0;

    while (isdigit((unsigned char)**at) && digits < most_digits) {
        n = n * 10 + (*(*at)++ - '0');
        digits++;
    }
    *ret = n;
    return digits > 0;
}

/* "15:00", "15:00:30", "3:00 pm" up to the end of the text. */
static bool
read_clock(const char *at, struct tm *tm)
{
    int hour, minute, second = 0;

    if (!take_number(&at, 2, &hour) || *at++ != ':' || !take_number(&at, 2, &minute))
        return false;
    if (*at == ':' && (at++, !take_number(&at, 2, &second)))
        return false;
    while (*at == ' ')
        at++;
    if (strncasecmp(at, "am", 2) == 0 || strncasecmp(at, "pm", 2) == 0) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + ((at[0] | 0x20) == 'p' ? 12 : 0);
        at += 2;
    }
    if (*at != '\0' || hour > 23 || minute > 59 || second > 60)
        return false;
    tm->tm_hour = hour;
    tm->tm_min = minute;
    tm->tm_sec = second;
    return true;
}

/* "11/29/26", "11.29", with "-15:00" behind it: Slurm's form that no other
 * command has.
 */
static bool
read_american(const char *text, int64_t now_us, int64_t *ret_us)
{
    const time_t now = (time_t)(now_us / SECOND_US);
    struct tm tm = {0}, today = {0};
    const char *at = text;
    int month, day, year;
    char separator;
    time_t result;

    localtime_r(&now, &today);
    if (!take_number(&at, 2, &month) || (*at != '/' && *at != '.'))
        return false;
    separator = *at++;
    if (!take_number(&at, 2, &day))
        return false;
    year = today.tm_year;
    if (*at == separator) {
        at++;
        if (!take_number(&at, 4, &year))
            return false;
        year += year < 100 ? 100 : year >= 1900 ? -1900 : 0;
    }
    tm = (struct tm){.tm_year = year, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1};
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    if (*at == '-' || *at == 'T') {
        if (!read_clock(at + 1, &tm))
            return false;
    } else if (*at != '\0')
        return false;
    result = mktime(&tm);
    *ret_us = (int64_t)result * SECOND_US;
    return result != (time_t)-1;
}

int
slurm_time_parse(const char *text, int64_t now_us, int64_t *ret_us, struct error *err)
{
    const time_t now = (time_t)(now_us / SECOND_US);
    struct tm tm = {0};

    localtime_r(&now, &tm);
    tm.tm_isdst = -1;
    if (read_clock(text, &tm)) {
        *ret_us = (int64_t)mktime(&tm) * SECOND_US;
        return 0;
    }
    if (read_american(text, now_us, ret_us))
        return 0;
    if (strncasecmp(text, "uts", 3) == 0 && text[3] != '\0' && strlen(text) < 15
        && text[3 + strspn(text + 3, "0123456789")] == '\0') { /* seconds since 1970 */
        *ret_us = atoll(text + 3) * SECOND_US;
        return 0;
    }
    if (time_expression_parse(text, TIME_END, now_us, ret_us, NULL) == 0)
        return 0;
    return error_set(err, -EINVAL, "Invalid time specification (pos=0): %s", text);
}

int64_t
slurm_time_parse_elapsed(const char *text)
{
    int64_t days = 0, n = 0, total = 0;

    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9')
            n = n * 10 + (*text - '0');
        else if (*text == '-') {
            days = n;
            n = 0;
        } else if (*text == ':') {
            total = (total + n) * 60;
            n = 0;
        } else
            return 0;
    }
    return days * 86400 + total + n;
}
