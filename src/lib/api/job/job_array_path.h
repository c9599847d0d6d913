/* SPDX-License-Identifier: Apache-2.0 */
/* job_array_path.h - names of files of an array's tasks
 *
 * %A is the job's id, %a the task's, %j both (1042_7), each padded by zeros
 * where a number stands behind the percent sign: "%4a". Other patterns, "%%"
 * among them, stay for the agent.
 *
 * Thread:  any; a pure function.
 */
#pragma once

#include <stdint.h>

struct arena;

const char *job_array_path(struct arena *arena,
                           const char *pattern,
                           int64_t job,
                           int64_t task);
