/* SPDX-License-Identifier: Apache-2.0 */
/* job_operands.h - the jobs and tasks that the operands of a verb name
 *
 * All verbs for jobs read the same lists, in one operand or in several: "7",
 * "5,6", "10-20", "1042_7", "1042_[3-9]", "job/7" and "job 7". Another text is
 * the name of a Job.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/value/id_ranges.h"

struct arena;
struct error;

struct job_operands {
    struct id_ranges ids;
    const char **names; /* in the arena */
    size_t n_names;
};

/* -EINVAL: an operand is malformed or names another type. */
int job_operands_read(int n_operands, char *const *operands, struct arena *arena,
                      struct job_operands *ret_operands, struct error *err);

/* The same for a verb that works on jobs by their ids: a name is refused, and
 * so are more than `most` jobs (tasks of one array count as one).
 */
int job_operands_read_ids(int n_operands, char *const *operands, int64_t most, struct arena *arena,
                          struct id_ranges *ret_ids, struct error *err);

/* Whether an operand is a range of ids. Jobs of a range may be gone, but jobs
 * that are named one by one must exist.
 */
bool job_operands_have_range(int n_operands, char *const *operands);

/* Whether a text names a step ("17.0", "17_4.0"), which no name of a Job does. */
bool job_operands_is_step(const char *text);

/* Whether it names the script or the like of a job, as sacct's rows do: "17.batch", "17.extern". */
bool job_operands_is_part(const char *text);

/* -EINVAL if it is one of the two, with what to type, for a verb that works on whole jobs. */
int job_operands_refuse_step(const char *text, struct error *err);
