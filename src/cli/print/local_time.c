/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/local_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define SECOND INT64_C(1000000)

static struct tm
break_down(int64_t us)
{
    const time_t seconds = (time_t)(us / SECOND);
    struct tm tm = {0};

    localtime_r(&seconds, &tm);
    return tm;
}

void
local_time_format(int64_t us, char out[LOCAL_TIME_SIZE])
{
    const struct tm tm = break_down(us);

    if (strftime(out, LOCAL_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, LOCAL_TIME_SIZE, "?");
}

void
local_time_format_brief(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE])
{
    const struct tm tm = break_down(us);
    const struct tm now = break_down(now_us);
    size_t length;

    if (tm.tm_year == now.tm_year && tm.tm_yday == now.tm_yday)
        length = strftime(out, LOCAL_TIME_SIZE, "%H:%M:%S", &tm);
    else if (tm.tm_year == now.tm_year)
        length = strftime(out, LOCAL_TIME_SIZE, "%b %e %H:%M", &tm);
    else
        length = strftime(out, LOCAL_TIME_SIZE, "%Y-%m-%d", &tm);
    if (length == 0)
        snprintf(out, LOCAL_TIME_SIZE, "?");
}

void
local_time_format_minute(int64_t us, int64_t now_us, char out[LOCAL_TIME_SIZE])
{
    const struct tm tm = break_down(us);
    const struct tm now = break_down(now_us);
    const bool is_today = tm.tm_year == now.tm_year && tm.tm_yday == now.tm_yday;
    const bool is_near = us - now_us < 300 * 24 * 3600 * SECOND;

    if (strftime(out, LOCAL_TIME_SIZE,
                 is_today  ? "%H:%M"
                 : is_near ? "%b %e %H:%M"
                           : "%Y-%m-%d",
                 &tm)
        == 0)
        snprintf(out, LOCAL_TIME_SIZE, "?");
}

/* The length of the time that the text begins with; 0: it begins with none. */
static size_t
time_length(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00Z";

    for (size_t i = 0; form[i] != '\0'; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return 0;
    return sizeof(form) - 1;
}

void
local_time_add_text(const char *text, struct strbuf *out)
{
    while (*text != '\0') {
        const size_t length = time_length(text);
        char moment[TIME_TEXT_SIZE], local[LOCAL_TIME_SIZE];
        int64_t us;

        snprintf(moment, sizeof(moment), "%.*s", (int)length, text);
        if (length == 0 || time_parse(moment, &us) < 0) {
            strbuf_add_char(out, *text++);
            continue;
        }
        local_time_format(us, local);
        strbuf_add_text(out, local);
        text += length;
    }
}
