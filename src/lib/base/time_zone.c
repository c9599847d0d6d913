/* SPDX-License-Identifier: Apache-2.0 */
/* The C library has one zone for a process, and changing it is not safe beside other threads.
 * CronJobs and tables need the zone of a user or a schedule, so the system's files are read
 * here (decision 232). Names come from users: no path may lead out of the database.
 */
#include "lib/base/time_zone.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define DATABASE    "/usr/share/zoneinfo/"
#define OWN_ZONE    "/etc/localtime"
#define FILE_MAX    (256u << 10)
#define HEADER_SIZE 44
#define DAY_S       INT64_C(86400)
#define PART_MAX    14 /* of a name, between two slashes */
#define QUARTER_S   900
#define RULE_TIME_S (167 * INT64_C(3600))

/* A day of the year on which clocks change. */
struct change_rule {
    char form; /* 'M': month, week, weekday; 'J': day without leap days; 'D' */
    int month, week, day;
    int64_t time_s; /* local time on that day */
};

/* The rule after the last change of the file. */
struct zone_rule {
    bool is_there;
    bool has_summer;
    int64_t standard_s, summer_s; /* seconds east of UTC */
    struct change_rule begins, ends;
};

struct time_zone {
    unsigned count;
    int64_t *times;   /* of changes, ascending */
    int64_t *offsets; /* after each change, seconds east of UTC */
    int64_t first_s;  /* offset before the first change */
    struct zone_rule rule;
};

/* ---- The calendar ---- */

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static bool
is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* A year starts in March here, so that a leap day is its last day. */
int64_t
calendar_day_number(struct calendar_day day)
{
    int64_t year = day.year - (day.month <= 2);
    int64_t era = floor_div(year, 400);
    int64_t of_era = year - era * 400;
    int64_t month = (day.month + 9) % 12;
    int64_t of_year = (153 * month + 2) / 5 + day.day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct calendar_day
calendar_day_of(int64_t day)
{
    int64_t shifted = day + 719468;
    int64_t era = floor_div(shifted, 146097);
    int64_t rest = shifted - era * 146097;
    int64_t of_era = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    int64_t of_year = rest - (365 * of_era + of_era / 4 - of_era / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct calendar_day result;

    result.day = (unsigned)(of_year - (153 * month + 2) / 5 + 1);
    result.month = (unsigned)(month < 10 ? month + 3 : month - 9);
    result.year = of_era + era * 400 + (result.month <= 2);
    return result;
}

unsigned
calendar_weekday(int64_t day)
{
    return (unsigned)(((day + 4) % 7 + 7) % 7);
}

/* ---- The rule at the end of the file ---- */

static bool
read_number(const char **p, int most, int *ret)
{
    int value = 0;

    if (!isdigit((unsigned char)**p))
        return false;
    for (; isdigit((unsigned char)**p); (*p)++) {
        value = value * 10 + (**p - '0');
        if (value > most)
            return false;
    }
    *ret = value;
    return true;
}

/* "2", "-3:30", "+12:00:00" */
static bool
read_hours(const char **p, int64_t *ret_s)
{
    int sign = **p == '-' ? -1 : 1;
    int hours, minutes = 0, seconds = 0;

    if (**p == '-' || **p == '+')
        (*p)++;
    if (!read_number(p, 167, &hours))
        return false;
    if (**p == ':') {
        (*p)++;
        if (!read_number(p, 59, &minutes))
            return false;
        if (**p == ':') {
            (*p)++;
            if (!read_number(p, 59, &seconds))
                return false;
        }
    }
    *ret_s = sign * (hours * INT64_C(3600) + minutes * 60 + seconds);
    return *ret_s >= -RULE_TIME_S && *ret_s <= RULE_TIME_S;
}

static bool
skip_name(const char **p)
{
    const char *begin = *p;

    if (**p == '<') {
        *p = strchr(begin, '>');
        if (*p == NULL)
            return false;
        (*p)++;
        return true;
    }
    while (isalpha((unsigned char)**p))
        (*p)++;
    return *p - begin >= 3;
}

static bool
read_change(const char **p, struct change_rule *rule)
{
    if (**p != ',')
        return false;
    (*p)++;
    rule->time_s = 2 * 3600;
    if (**p == 'M') {
        rule->form = 'M';
        (*p)++;
        if (!read_number(p, 12, &rule->month) || rule->month < 1 || *(*p)++ != '.'
            || !read_number(p, 5, &rule->week) || rule->week < 1 || *(*p)++ != '.'
            || !read_number(p, 6, &rule->day))
            return false;
    } else {
        rule->form = **p == 'J' ? 'J' : 'D';
        *p += **p == 'J';
        if (!read_number(p, 365, &rule->day))
            return false;
    }
    if (**p != '/')
        return true;
    (*p)++;
    return read_hours(p, &rule->time_s);
}

static bool
read_rule(const char *text, struct zone_rule *rule)
{
    const char *p = text;
    int64_t west_s;

    if (!skip_name(&p) || !read_hours(&p, &west_s))
        return false;
    rule->standard_s = -west_s;
    rule->is_there = true;
    if (*p == '\0')
        return true;
    rule->has_summer = true;
    rule->summer_s = rule->standard_s + 3600;
    if (!skip_name(&p))
        return false;
    if (*p != ',' && *p != '\0') {
        if (!read_hours(&p, &west_s))
            return false;
        rule->summer_s = -west_s;
    }
    if (*p == '\0')
        p = ",M3.2.0,M11.1.0";
    return read_change(&p, &rule->begins) && read_change(&p, &rule->ends) && *p == '\0';
}

static int64_t
day_of_change(const struct change_rule *rule, int64_t year)
{
    int64_t first = calendar_day_number((struct calendar_day){year, 1, 1});
    int64_t next_month, day;

    if (rule->form == 'D')
        return first + rule->day;
    if (rule->form == 'J')
        return first + rule->day - 1 + (is_leap(year) && rule->day >= 60);
    first = calendar_day_number((struct calendar_day){year, (unsigned)rule->month, 1});
    next_month = calendar_day_number(
        (struct calendar_day){year + (rule->month == 12), (unsigned)(rule->month % 12 + 1), 1});
    day = first + (rule->day - (int)calendar_weekday(first) + 7) % 7 + (rule->week - 1) * 7;
    return day < next_month ? day : day - 7;
}

static int64_t
rule_offset(const struct zone_rule *rule, int64_t at_s)
{
    int64_t year, begin_s, end_s;

    if (!rule->has_summer)
        return rule->standard_s;
    year = calendar_day_of(floor_div(at_s + rule->standard_s, DAY_S)).year;
    begin_s = day_of_change(&rule->begins, year) * DAY_S + rule->begins.time_s - rule->standard_s;
    end_s = day_of_change(&rule->ends, year) * DAY_S + rule->ends.time_s - rule->summer_s;
    if (begin_s < end_s ? at_s >= begin_s && at_s < end_s : at_s < end_s || at_s >= begin_s)
        return rule->summer_s;
    return rule->standard_s;
}

/* ---- The file ---- */

struct header {
    char version;
    size_t n_utc, n_standard, n_leaps, n_times, n_types, n_letters;
};

static uint32_t
read_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t
read_i32(const unsigned char *p)
{
    return (int32_t)read_u32(p);
}

static int64_t
read_i64(const unsigned char *p)
{
    return (int64_t)((uint64_t)read_u32(p) << 32 | read_u32(p + 4));
}

static bool
read_header(const unsigned char *bytes, size_t length, struct header *h)
{
    if (length < HEADER_SIZE || memcmp(bytes, "TZif", 4) != 0)
        return false;
    h->version = (char)bytes[4];
    h->n_utc = read_u32(bytes + 20);
    h->n_standard = read_u32(bytes + 24);
    h->n_leaps = read_u32(bytes + 28);
    h->n_times = read_u32(bytes + 32);
    h->n_types = read_u32(bytes + 36);
    h->n_letters = read_u32(bytes + 40);
    return h->n_utc <= FILE_MAX && h->n_standard <= FILE_MAX && h->n_leaps <= FILE_MAX
           && h->n_times <= FILE_MAX && h->n_types >= 1 && h->n_types <= 256
           && h->n_letters <= FILE_MAX;
}

static size_t
body_size(const struct header *h, size_t time_size)
{
    return h->n_times * (time_size + 1) + h->n_types * 6 + h->n_letters
           + h->n_leaps * (time_size + 4) + h->n_standard + h->n_utc;
}

static bool
read_times(struct time_zone *z, const unsigned char *body, const struct header *h, size_t time_size)
{
    const unsigned char *kinds = body + h->n_times * time_size;
    const unsigned char *types = kinds + h->n_times;

    z->count = (unsigned)h->n_times;
    z->times = xnew_array(int64_t, h->n_times + 1);
    z->offsets = xnew_array(int64_t, h->n_times + 1);
    z->first_s = read_i32(types);
    for (unsigned i = 0; i < z->count; i++) {
        const unsigned char *at = body + i * time_size;

        if (kinds[i] >= h->n_types)
            return false;
        z->times[i] = time_size == 8 ? read_i64(at) : read_i32(at);
        z->offsets[i] = read_i32(types + (size_t)kinds[i] * 6);
        if ((i > 0 && z->times[i] <= z->times[i - 1]) || z->offsets[i] < -DAY_S * 2
            || z->offsets[i] > DAY_S * 2)
            return false;
    }
    return z->first_s >= -DAY_S * 2 && z->first_s <= DAY_S * 2;
}

/* The footer is a newline, the rule and a newline; the rule may be empty. */
static bool
read_footer(struct time_zone *z, const unsigned char *p, size_t length)
{
    char text[128];
    const unsigned char *end;

    if (length < 2 || p[0] != '\n')
        return false;
    end = memchr(p + 1, '\n', length - 1);
    if (end == NULL || (size_t)(end - p) > sizeof(text))
        return false;
    memcpy(text, p + 1, (size_t)(end - p) - 1);
    text[end - p - 1] = '\0';
    return text[0] == '\0' || read_rule(text, &z->rule);
}

static bool
read_zone(struct time_zone *z, const unsigned char *bytes, size_t length)
{
    struct header h;
    size_t time_size = 4, size;

    if (!read_header(bytes, length, &h))
        return false;
    bytes += HEADER_SIZE;
    length -= HEADER_SIZE;
    size = body_size(&h, time_size);
    if (length < size)
        return false;
    if (h.version == '\0')
        return read_times(z, bytes, &h, time_size);
    bytes += size;
    length -= size;
    time_size = 8;
    if (!read_header(bytes, length, &h))
        return false;
    bytes += HEADER_SIZE;
    length -= HEADER_SIZE;
    size = body_size(&h, time_size);
    return length >= size && read_times(z, bytes, &h, time_size)
           && read_footer(z, bytes + size, length - size);
}

static int
read_file(const char *path, unsigned char *bytes, size_t *ret_length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n;
    size_t length = 0;

    if (fd < 0)
        return -errno;
    while (length < FILE_MAX && (n = read(fd, bytes + length, FILE_MAX - length)) > 0)
        length += (size_t)n;
    close(fd);
    *ret_length = length;
    return 0;
}

static bool
is_part(const char *part, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

    return length >= 1 && length <= PART_MAX && part[0] != '-' && strspn(part, letters) >= length
           && !(length == 1 && part[0] == '.')
           && !(length == 2 && part[0] == '.' && part[1] == '.');
}

static bool
is_name(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, "/");

        if (!is_part(name, length))
            return false;
        if (name[length] == '\0')
            return true;
        name += length + 1;
    }
}

void
time_zone_free(struct time_zone *z)
{
    if (z == NULL)
        return;
    free(z->times);
    free(z->offsets);
    free(z);
}

static bool
is_utc(const char *name)
{
    return strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0;
}

/* The path of the zone file that TZ names, as the C library resolves it:
 * ":Area/Place" and paths. A rule in TZ is not supported: it means UTC.
 */
static char *
own_path(void)
{
    const char *tz = getenv("TZ");

    if (tz == NULL)
        return xstrdup(OWN_ZONE);
    if (tz[0] == ':')
        tz++;
    if (tz[0] == '/')
        return xstrdup(tz);
    return xasprintf(DATABASE "%s", is_name(tz) ? tz : "UTC");
}

int
time_zone_open(const char *name, struct time_zone **ret_zone, struct error *err)
{
    CLEANUP_FREE char *path = NULL;
    CLEANUP_FREE unsigned char *bytes = NULL;
    struct time_zone *z;
    size_t length = 0;
    int r;

    if (name != NULL && !is_name(name))
        return error_set(err, -ENOENT, "unknown time zone %s", name);
    path = name != NULL ? xasprintf(DATABASE "%s", name) : own_path();
    z = xnew(struct time_zone);
    bytes = xnew_array(unsigned char, FILE_MAX);
    r = name != NULL && is_utc(name) ? 1 : read_file(path, bytes, &length);
    if (r == 1 || (r < 0 && name == NULL)) { /* UTC needs no file */
        *ret_zone = z;
        return 0;
    }
    if (r < 0 || !read_zone(z, bytes, length)) {
        time_zone_free(z);
        return error_set(err, -ENOENT, "unknown time zone %s", name != NULL ? name : path);
    }
    *ret_zone = z;
    return 0;
}

/* ---- Local time ---- */

int64_t
time_zone_offset_s(const struct time_zone *z, int64_t at_s)
{
    unsigned low = 0, high;

    if (z == NULL)
        return 0;
    high = z->count;
    if (z->rule.is_there && (high == 0 || at_s >= z->times[high - 1]))
        return rule_offset(&z->rule, at_s);
    while (low < high) { /* the first change after that time */
        unsigned middle = low + (high - low) / 2;

        if (z->times[middle] > at_s)
            high = middle;
        else
            low = middle + 1;
    }
    return low == 0 ? z->first_s : z->offsets[low - 1];
}

static bool
has_begun(const struct time_zone *z, int64_t day, int64_t at_s)
{
    return floor_div(at_s + time_zone_offset_s(z, at_s), DAY_S) >= day;
}

int64_t
time_zone_day_start_s(const struct time_zone *z, int64_t day)
{
    int64_t at_s = day * DAY_S - time_zone_offset_s(z, day * DAY_S);

    at_s = day * DAY_S - time_zone_offset_s(z, at_s);
    /* Midnight may be skipped, or may occur twice. No change is larger than a
     * day.
     */
    for (int i = 0; i < 4 * 26 && !has_begun(z, day, at_s); i++)
        at_s += QUARTER_S;
    for (int i = 0; i < 4 * 26 && has_begun(z, day, at_s - QUARTER_S); i++)
        at_s -= QUARTER_S;
    return at_s;
}
