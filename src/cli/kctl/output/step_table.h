/* SPDX-License-Identifier: Apache-2.0 */
/* step_table.h - steps of jobs as a table for people
 *
 * Thread: any; steps are trees as returned by /kiln/v1/steps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json;

/* Prints the steps; nothing if there are none. Wide: with the command. */
void step_table_print(const struct json *steps, bool is_wide, bool with_headings,
                      struct arena *arena);

/* "1042.0" and "1042_7.0"; the job alone. Times are microseconds; 0: it has none. */
const char *step_table_name(struct arena *arena, const struct json *step);
const char *step_table_job(struct arena *arena, const struct json *step);
int64_t step_table_time(const struct json *step, const char *member);
