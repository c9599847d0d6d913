/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/human.h"

#include <inttypes.h>
#include <stdio.h>

#define SECOND INT64_C(1000000)
#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define YEAR   (365 * DAY)

/* Prints two units while the larger one is small, otherwise one. */
static void
format(int64_t seconds, int64_t large, char large_letter, int64_t small, char small_letter,
       char out[HUMAN_TEXT_SIZE])
{
    const int64_t rest = small > 0 ? seconds % large / small : 0;

    if (rest > 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64 "%c%" PRId64 "%c", seconds / large, large_letter,
                 rest, small_letter);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64 "%c", seconds / large, large_letter);
}

void
human_duration(int64_t us, char out[HUMAN_TEXT_SIZE])
{
    const int64_t s = us / SECOND;

    if (us <= -2 * SECOND)
        snprintf(out, HUMAN_TEXT_SIZE, "<invalid>");
    else if (s < 2 * MINUTE)
        format(s > 0 ? s : 0, 1, 's', 0, '\0', out);
    else if (s < 10 * MINUTE)
        format(s, MINUTE, 'm', 1, 's', out);
    else if (s < 3 * HOUR)
        format(s, MINUTE, 'm', 0, '\0', out);
    else if (s < 8 * HOUR)
        format(s, HOUR, 'h', MINUTE, 'm', out);
    else if (s < 2 * DAY)
        format(s, HOUR, 'h', 0, '\0', out);
    else if (s < 8 * DAY)
        format(s, DAY, 'd', HOUR, 'h', out);
    else if (s < 2 * YEAR)
        format(s, DAY, 'd', 0, '\0', out);
    else if (s < 8 * YEAR)
        format(s, YEAR, 'y', DAY, 'd', out);
    else
        format(s, YEAR, 'y', 0, '\0', out);
}

void
human_bytes(int64_t bytes, char out[HUMAN_TEXT_SIZE])
{
    static const char units[] = "KMGTPE";
    int64_t whole = bytes;
    int64_t tenths = 0;
    int unit = -1;

    while (whole >= 1024 && unit < 5) {
        tenths = whole % 1024 * 10 / 1024;
        whole /= 1024;
        unit++;
    }
    if (unit < 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64 "B", bytes);
    else if (tenths > 0 && whole < 100)
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64 ".%" PRId64 "%ci", whole, tenths, units[unit]);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64 "%ci", whole, units[unit]);
}
