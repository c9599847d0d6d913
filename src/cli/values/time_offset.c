/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/time_offset.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cli/values/time_expression.h"
#include "lib/base/macro.h"
#include "lib/base/timespan.h"
#include "lib/json/record.h"

#define SECOND INT64_C(1000000)
#define DAY    INT64_C(86400)
#define MOST   (INT64_C(36525) * DAY)

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
bool
time_offset_read(const char *text, enum time_direction direction, int64_t now_us, int64_t *ret_us)
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
