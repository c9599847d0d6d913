/* SPDX-License-Identifier: Apache-2.0 */
/* job_outcomes.h - what became of the jobs that a verb was for
 *
 * A few have a line each, "job/7 cancelled"; many are summed up by what was
 * done, and those that nothing was done to by why not.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct job_outcomes;
struct json;

/* Life. The arena has to outlive it, and the answers have to be its. */
void job_outcomes_free(struct job_outcomes *outcomes);
struct job_outcomes *job_outcomes_new(struct arena *arena)
    OWNED_BY(job_outcomes_free);
DEFINE_CLEANUP(struct job_outcomes, job_outcomes_free)

/* Takes an answer of /kiln/v1/jobs/ACTION. */
void job_outcomes_add(struct job_outcomes *outcomes, const struct json *answer);

/* Prints them, failures on standard error but for the last, which is the error:
 * -ENOENT or -EACCES. That some of a range are not there is no failure.
 */
int job_outcomes_print(struct job_outcomes *outcomes,
                       bool is_range,
                       struct error *err);
