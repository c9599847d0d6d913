/* SPDX-License-Identifier: Apache-2.0 */
/* time_expression.h - a point in time, in the words that people write
 *
 *   now, now+1hour, now-30minutes, now+90 (seconds), -7d, +2h, +1h30m
 *   16:00, 16:00:30, 4:30pm, 4 pm, midnight, noon, teatime
 *   today, tomorrow, yesterday, monday, next monday, last fri
 *   2026-12-24, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00, 12/24/26,
 *   122426, 12/24, 1224
 *
 * and a day and a time of it in one text ("16:00 tomorrow"). Times are local; a
 * day without a time begins at 00:00. Units are second, minute, hour, day and
 * week, with or without an s, or s, m, h, d and w; a day of these is 24 hours.
 *
 * A text that fits more than one day means the next or the last of them, as the
 * direction says: "16:00", "monday", "12/24", and an hour that the clocks go
 * through twice. ksub(1) has this for users, under TIMES.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

enum time_direction {
    TIME_AHEAD, /* of what is to be done */
    TIME_BACK,  /* of what was: a span alone ("2h") is so long ago */
    TIME_END,   /* of the end of a period that was: so, but it may be ahead */
};

/* -EINVAL, in words that say what to write, with the nearest word that there
 * is: also for a time that clocks leave out as summer time begins, and, back,
 * for one that is yet to come. *ret_us stays as it was then.
 */
int time_expression_parse(const char *text,
                          enum time_direction direction,
                          int64_t now_us,
                          int64_t *ret_us,
                          struct error *err);
