/* SPDX-License-Identifier: Apache-2.0 */
/* time_expression.h - a point in time, as people write it
 *
 *   now, now+1hour, now-30minutes, now+90 (seconds), -7d, +2h, +1h30m
 *   16:00, 16:00:30, 4:30pm, 4 pm, midnight, noon, teatime
 *   today, tomorrow, yesterday, monday, next monday, last fri
 *   2026-12-24, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00, 12/24/26,
 *   122426, 12/24, 1224
 *
 * and a day and a time of day in one text ("16:00 tomorrow"). Times are local;
 * a day without a time begins at 00:00. Units are second, minute, hour, day and
 * week, with or without an s, or s, m, h, d and w; such a day is 24 hours.
 *
 * A text that matches more than one day means the next or the last of them, as
 * the direction says: "16:00", "monday", "12/24", and an hour that occurs twice
 * when summer time ends. ksub(1) documents this for users, under TIMES.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

enum time_direction {
    TIME_AHEAD, /* of something to be done */
    TIME_BACK,  /* of something past: a span alone ("2h") is that long ago */
    TIME_END,   /* the end of a past period: as TIME_BACK, but it may be in the
                 * future */
};

/* -EINVAL with a text that says what to write, with the nearest known word.
 * This includes a time that is skipped when summer time begins and, for
 * TIME_BACK, one in the future. *ret_us is then unchanged.
 */
int time_expression_parse(const char *text, enum time_direction direction, int64_t now_us,
                          int64_t *ret_us, struct error *err);

/* The end of something that begins at start_us: a time of day or a weekday is
 * the first one after that, so that 20:00 to 08:00 ends the next morning.
 */
int time_expression_parse_after(const char *text, int64_t now_us, int64_t start_us, int64_t *ret_us,
                                struct error *err);
