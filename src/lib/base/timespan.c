/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/timespan.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/macro.h"

/* Ordered so that "ms" is tried before "m". */
static const struct {
    const char *name;
    int64_t us;
} units[] = {
    {"\xc2\xb5s", 1},
    {"us", 1},
    {"ms", 1000},
    {"s", 1000000},
    {"m", 60 * INT64_C(1000000)},
    {"h", 3600 * INT64_C(1000000)},
    {"d", 86400 * INT64_C(1000000)},
};

/* Reads digits with an optional fraction; only its first six digits count. */
static const char *
read_number(const char *p, int64_t *ret_whole, int64_t *ret_millionths)
{
    int64_t scale = 100000;
    unsigned n_digits = 0;

    *ret_whole = *ret_millionths = 0;
    for (; isdigit((unsigned char)*p); p++, n_digits++)
        if (__builtin_mul_overflow(*ret_whole, 10, ret_whole)
            || __builtin_add_overflow(*ret_whole, *p - '0', ret_whole))
            *ret_whole = INT64_MAX;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++, n_digits++, scale /= 10)
            *ret_millionths += (*p - '0') * scale;
    return n_digits > 0 ? p : NULL;
}

static const char *
read_unit(const char *p, int64_t *ret_us)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        size_t length = strlen(units[i].name);

        if (strncmp(p, units[i].name, length) == 0) {
            *ret_us = units[i].us;
            return p + length;
        }
    }
    return NULL;
}

int
timespan_parse(const char *text, int64_t *ret_us)
{
    const char *p = text;
    int64_t total = 0;

    if (strcmp(text, "0") == 0) {
        *ret_us = 0;
        return 0;
    }
    if (*p == '\0')
        return -EINVAL;
    while (*p != '\0') {
        int64_t whole, millionths, unit, part;

        p = read_number(p, &whole, &millionths);
        p = p != NULL ? read_unit(p, &unit) : NULL;
        if (p == NULL)
            return -EINVAL;
        if (__builtin_mul_overflow(whole, unit, &part)
            || __builtin_add_overflow(total, part, &total)
            || __builtin_add_overflow(total, millionths * (unit / 1000000), &total)
            || __builtin_add_overflow(total, millionths * (unit % 1000000) / 1000000, &total))
            return -ERANGE;
    }
    *ret_us = total;
    return 0;
}

void
timespan_format(int64_t us, char out[TIMESPAN_TEXT_SIZE])
{
    size_t used = 0;

    if (us == 0)
        snprintf(out, TIMESPAN_TEXT_SIZE, "0s");
    for (size_t i = ARRAY_SIZE(units); i-- > 0 && us > 0;) {
        int64_t n = us / units[i].us;

        if (n == 0)
            continue;
        used += (size_t)snprintf(out + used, TIMESPAN_TEXT_SIZE - used, "%" PRId64 "%s", n,
                                 units[i].name);
        us -= n * units[i].us;
    }
}
