/* SPDX-License-Identifier: Apache-2.0 */
/* job_file.h - the path of a file that a job reads or writes, with its pattern
 * resolved as the agent does it
 *
 * Thread: any; pure functions of trees.
 */
#pragma once

#include <stdint.h>

struct arena;
struct json;

struct job_file {
    const struct json *job;
    const char *name; /* of the Job */
    int64_t id;
    int64_t task;     /* of an array; -1: the job as a whole */
    const char *node; /* NULL: not known yet */
};

/* The absolute path; the parts that are not known yet stay patterns. */
const char *job_file_resolve(const struct job_file *file, const char *pattern, struct arena *arena);
