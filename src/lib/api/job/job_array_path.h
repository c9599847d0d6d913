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

#include <stdint.h>

struct arena;

const char *job_array_path(struct arena *arena, const char *pattern, int64_t job, int64_t task);
