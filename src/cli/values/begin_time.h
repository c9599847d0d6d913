/* SPDX-License-Identifier: Apache-2.0 */
/* begin_time.h - the time when a job may begin, as Slurm's users write it
 *
 * "now+1hour", "now+90" (seconds), "16:00", "4:30pm", "noon", "midnight",
 * "teatime", "tomorrow", "2026-12-24", "2026-12-24T18:00", "12/24/26",
 * "1224", and a date and a time in one text ("16:00 tomorrow"). Local time. A
 * time of day that has passed means tomorrow's.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

int begin_time_parse(const char *text,
                     int64_t now_us,
                     int64_t *ret_us,
                     struct error *err);
