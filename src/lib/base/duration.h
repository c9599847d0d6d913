/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - time limits as Slurm's users write them, or with units
 *
 * "90" (minutes), "90:30", "1:30:00", "2-12" (days-hours), "2-12:30",
 * "2-12:30:00", "unlimited" or "infinite"; and "90s", "30m", "1h30m", "2d"
 * (timespan.h). Pure text.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;
struct strbuf;

#define DURATION_UNLIMITED 0 /* Slurm reads "0" as unlimited too */

/* -EINVAL with the valid forms in the text; -ERANGE above 100 years. */
int duration_parse(const char *text, int64_t *ret_seconds, struct error *err);

/* "2-12:30:00", "1:30:00", "unlimited" */
void duration_format(int64_t seconds, struct strbuf *out);

#define DURATION_BRIEF_SIZE 32

/* "1-02:03:04", "2:03:04", "3:04", as in tables. Less than nothing, as between the clocks of two
 * machines, is "0:00".
 */
void duration_format_brief(int64_t seconds, char out[DURATION_BRIEF_SIZE]);
