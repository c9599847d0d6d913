/* SPDX-License-Identifier: Apache-2.0 */
/* job_array_path.h - the file names of an array's tasks
 *
 * %A is the job's id, %a the task's, %j both (1042_7), each padded with zeros
 * to the width after the percent sign, if any: "%4a". Other patterns, "%%"
 * among them, are left for the agent.
 *
 * Thread:  any; a pure function.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* The pattern of a job without an array: %A is its number, as in ksub. *ret_has_task says whether
 * it names a task (%a), which such a job has not.
 */
const char *job_array_path_of_one(struct arena *arena, const char *pattern, bool *ret_has_task);

const char *job_array_path(struct arena *arena, const char *pattern, int64_t job, int64_t task);
