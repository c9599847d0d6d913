/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cron/cron_schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/time_zone.h"

#define HOUR_S    INT64_C(3600)
#define DAY_S     INT64_C(86400)
#define YEARS     5
#define PART_SIZE 64
#define EVERY_MAX (INT64_C(290) * 365 * DAY_S)

struct cron_field {
    unsigned least, most;
    const char *const *names; /* names of the values from `least` on; or NULL */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct cron_field fields[] = {
    {0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, month_names}, {0, 6, weekday_names},
};

/* ---- Parsing ---- */

static int
refuse_number(const char *text, struct error *err)
{
    return error_set(err, -EINVAL,
                     "failed to parse int from %s: strconv.Atoi: parsing "
                     "\"%s\": invalid syntax",
                     text, text);
}

static int
read_number(const char *text, int64_t *ret, struct error *err)
{
    const char *p = text + (text[0] == '-' || text[0] == '+');
    int64_t value = 0;

    if (*p == '\0' || strspn(p, "0123456789") != strlen(p) || strlen(p) > 18)
        return refuse_number(text, err);
    for (; *p != '\0'; p++)
        value = value * 10 + (*p - '0');
    if (text[0] == '-' && value > 0)
        return error_set(err, -EINVAL, "negative number (-%lld) not allowed: %s", (long long)value,
                         text);
    *ret = value;
    return 0;
}

static int
read_value(const struct cron_field *field, const char *text, int64_t *ret, struct error *err)
{
    for (unsigned i = field->least; field->names != NULL && i <= field->most; i++)
        if (strcasecmp(text, field->names[i - field->least]) == 0) {
            *ret = i;
            return 0;
        }
    return read_number(text, ret, err);
}

/* Splits the text at the letter. Returns the number of parts, which may exceed
 * 3.
 */
static unsigned
split(char *text, char letter, char *parts[3])
{
    unsigned count = 0;

    for (;;) {
        char *end = strchr(text, letter);

        if (count < 3)
            parts[count] = text;
        count++;
        if (end == NULL)
            return count;
        *end = '\0';
        text = end + 1;
    }
}

static bool
is_any(const char *text)
{
    return strcmp(text, "*") == 0 || strcmp(text, "?") == 0;
}

/* Parses "5", "1-5" or "mon-fri", each with an optional "/2"; or "*" or "?". */
static int
read_range(const struct cron_field *field, const char *text, uint64_t *bits, bool *is_all,
           struct error *err)
{
    char copy[PART_SIZE];
    char *steps[3], *ends[3];
    unsigned n_steps, n_ends;
    int64_t from = field->least, to = field->most, step = 1;
    bool any;
    int r;

    if (strlen(text) >= sizeof(copy))
        return error_set(err, -EINVAL, "range too long: %.60s...", text);
    memcpy(copy, text, strlen(text) + 1);
    n_steps = split(copy, '/', steps);
    n_ends = split(steps[0], '-', ends);
    any = is_any(ends[0]);
    if (!any) {
        r = read_value(field, ends[0], &from, err);
        if (r < 0)
            return r;
        to = from;
        if (n_ends > 2)
            return error_set(err, -EINVAL, "too many hyphens: %s", text);
        if (n_ends == 2) {
            r = read_value(field, ends[1], &to, err);
            if (r < 0)
                return r;
        }
    }
    if (n_steps > 2)
        return error_set(err, -EINVAL, "too many slashes: %s", text);
    if (n_steps == 2) {
        r = read_number(steps[1], &step, err);
        if (r < 0)
            return r;
        if (n_ends == 1)
            to = field->most;
    }
    if (from < field->least)
        return error_set(err, -EINVAL, "beginning of range (%lld) below minimum (%u): %s",
                         (long long)from, field->least, text);
    if (to > field->most)
        return error_set(err, -EINVAL, "end of range (%lld) above maximum (%u): %s", (long long)to,
                         field->most, text);
    if (from > to)
        return error_set(err, -EINVAL,
                         "beginning of range (%lld) beyond end of range "
                         "(%lld): %s",
                         (long long)from, (long long)to, text);
    if (step == 0)
        return error_set(err, -EINVAL, "step of range should be a positive number: %s", text);
    for (int64_t i = from; i <= to; i += step)
        *bits |= UINT64_C(1) << i;
    *is_all = *is_all || (any && step == 1);
    return 0;
}

static int
read_field(const struct cron_field *field, char *text, uint64_t *bits, bool *is_all,
           struct error *err)
{
    char *rest = NULL;

    for (char *part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        int r = read_range(field, part, bits, is_all, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int
read_fields(char *text, struct cron_schedule *s, struct error *err)
{
    uint64_t *const bits[] = {&s->minutes, &s->hours, &s->days, &s->months, &s->weekdays};
    bool is_all[ARRAY_SIZE(fields)] = {false};
    char *words[ARRAY_SIZE(fields)];
    char *rest = NULL;
    unsigned count = 0;
    CLEANUP_STRBUF struct strbuf shown = STRBUF_INIT;

    for (char *word = strtok_r(text, " \t\n\r\f\v", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n\r\f\v", &rest)) {
        strbuf_printf(&shown, "%s%s", count > 0 ? " " : "", word);
        if (count < ARRAY_SIZE(fields))
            words[count] = word;
        count++;
    }
    if (count != ARRAY_SIZE(fields))
        return error_set(err, -EINVAL, "expected exactly 5 fields, found %u: [%s]", count,
                         shown.length > 0 ? shown.text : "");
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
        int r = read_field(&fields[i], words[i], bits[i], &is_all[i], err);

        if (r < 0)
            return r;
    }
    s->is_any_day = is_all[2];
    s->is_any_weekday = is_all[4];
    return 0;
}

/* Parses a duration: "1h30m", "90s", "1.5h". */
static bool
read_duration(const char *p, int64_t *ret_s)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {
        {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600},
    };
    double total = 0;

    if (*p == '\0')
        return false;
    while (*p != '\0') {
        char *end;
        double value;
        bool found = false;

        if (!isdigit((unsigned char)*p) && *p != '.')
            return false;
        value = strtod(p, &end);
        if (end == p || strpbrk(p, "eExXpP") == p + 1)
            return false;
        p = end;
        for (size_t i = 0; i < ARRAY_SIZE(units) && !found; i++) {
            size_t n = strlen(units[i].name);

            if (strncmp(p, units[i].name, n) == 0 && !isalpha((unsigned char)p[n])) {
                total += value * units[i].seconds;
                p += n;
                found = true;
            }
        }
        if (!found || total > (double)EVERY_MAX)
            return false;
    }
    *ret_s = total < 1 ? 1 : (int64_t)total;
    return true;
}

static int
read_macro(const char *text, struct cron_schedule *s, struct error *err)
{
    static const struct {
        const char *name, *fields;
    } macros[] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    static const char every[] = "@every ";

    for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
        if (strcmp(text, macros[i].name) == 0) {
            char copy[16];

            memcpy(copy, macros[i].fields, strlen(macros[i].fields) + 1);
            return read_fields(copy, s, err);
        }
    if (strncmp(text, every, sizeof(every) - 1) != 0)
        return error_set(err, -EINVAL, "unrecognized descriptor: %s", text);
    if (!read_duration(text + sizeof(every) - 1, &s->every_s))
        return error_set(err, -EINVAL,
                         "failed to parse duration %s: time: invalid duration "
                         "\"%s\"",
                         text, text + sizeof(every) - 1);
    return 0;
}

int
cron_schedule_parse(const char *text, struct cron_schedule *ret_schedule, struct error *err)
{
    CLEANUP_FREE char *copy = NULL;

    memset(ret_schedule, 0, sizeof(*ret_schedule));
    if (text[0] == '\0')
        return error_set(err, -EINVAL, "empty spec string");
    /* A zone before the fields is upstream's older form; validation refuses it.
     */
    if (strncmp(text, "TZ=", 3) == 0 || strncmp(text, "CRON_TZ=", 8) == 0) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    if (text[0] == '@')
        return read_macro(text, ret_schedule, err);
    copy = xstrdup(text);
    return read_fields(copy, ret_schedule, err);
}

/* ---- Times ---- */

static bool
has(uint64_t bits, uint64_t value)
{
    return bits >> value & 1;
}

static bool
is_day(const struct cron_schedule *s, int64_t number, struct calendar_day day)
{
    bool by_day = has(s->days, day.day);
    bool by_weekday = has(s->weekdays, calendar_weekday(number));

    return s->is_any_day || s->is_any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

bool
cron_schedule_can_come(const struct cron_schedule *s)
{
    static const uint8_t longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (s->every_s > 0)
        return true;
    if (s->minutes == 0 || s->hours == 0)
        return false;
    if (!s->is_any_day && !s->is_any_weekday && s->weekdays != 0)
        return s->months != 0;
    if (s->weekdays == 0 && (s->is_any_day || s->is_any_weekday))
        return false;
    for (unsigned month = 1; month <= ARRAY_SIZE(longest); month++)
        if (has(s->months, month) && (s->days & ((UINT64_C(2) << longest[month - 1]) - 2)) != 0)
            return true;
    return false;
}

static int64_t
next_month(const struct time_zone *zone, struct calendar_day day)
{
    day.day = 1;
    day.year += day.month == 12;
    day.month = day.month % 12 + 1;
    return time_zone_day_start_s(zone, calendar_day_number(day));
}

static int64_t
floor_to(int64_t value, int64_t unit)
{
    int64_t rest = value % unit;

    return value - (rest < 0 ? rest + unit : rest);
}

int64_t
cron_schedule_next_s(const struct cron_schedule *s, const struct time_zone *zone, int64_t after_s)
{
    int64_t at_s = floor_to(after_s, 60) + 60;
    int64_t until_s = after_s + YEARS * 366 * DAY_S;

    if (s->every_s > 0)
        return after_s + s->every_s;
    while (at_s <= until_s) {
        int64_t local_s = at_s + time_zone_offset_s(zone, at_s);
        int64_t number = floor_to(local_s, DAY_S) / DAY_S;
        int64_t of_day_s = local_s - number * DAY_S;
        struct calendar_day day = calendar_day_of(number);

        if (!has(s->months, day.month))
            at_s = next_month(zone, day);
        else if (!is_day(s, number, day))
            at_s = time_zone_day_start_s(zone, number + 1);
        else if (!has(s->hours, (uint64_t)(of_day_s / HOUR_S)))
            at_s += HOUR_S - of_day_s % HOUR_S;
        else if (!has(s->minutes, (uint64_t)(of_day_s % HOUR_S / 60)))
            at_s += 60 - of_day_s % 60;
        else
            return at_s;
    }
    return 0;
}

static unsigned
count_times(const struct cron_schedule *s, const struct time_zone *zone, int64_t after_s,
            int64_t until_s, unsigned most)
{
    unsigned count = 0;

    while (count < most) {
        after_s = cron_schedule_next_s(s, zone, after_s);
        if (after_s == 0 || after_s > until_s)
            break;
        count++;
    }
    return count;
}

int64_t
cron_schedule_last_s(const struct cron_schedule *s, const struct time_zone *zone, int64_t after_s,
                     int64_t until_s, unsigned most, unsigned *ret_count)
{
    int64_t span_s = 60, from_s, at_s, last_s = 0;

    *ret_count = count_times(s, zone, after_s, until_s, most);
    if (*ret_count == 0)
        return 0;
    if (s->every_s > 0)
        return after_s + (until_s - after_s) / s->every_s * s->every_s;
    /* Doubles the span backwards from the end, so that few times are in the
     * last span.
     */
    do {
        span_s *= 2;
        from_s = until_s - span_s > after_s ? until_s - span_s : after_s;
        at_s = cron_schedule_next_s(s, zone, from_s);
    } while ((at_s == 0 || at_s > until_s) && from_s > after_s);
    for (; at_s != 0 && at_s <= until_s; at_s = cron_schedule_next_s(s, zone, at_s))
        last_s = at_s;
    return last_s;
}
