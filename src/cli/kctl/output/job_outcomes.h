/* SPDX-License-Identifier: Apache-2.0 */
/* job_outcomes.h - reports the result of a verb for each of its jobs
 *
 * A few jobs have a line each, "job/7 cancelled"; many are summarized by the
 * result, and unchanged jobs by the reason.
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

/* Life. The arena must outlive the struct, and must own the answers. */
void job_outcomes_free(struct job_outcomes *outcomes);
struct job_outcomes *job_outcomes_new(struct arena *arena) OWNED_BY(job_outcomes_free);
DEFINE_CLEANUP(struct job_outcomes, job_outcomes_free)

/* Adds an answer of /kiln/v1/jobs/ACTION. */
void job_outcomes_add(struct job_outcomes *outcomes, const struct json *answer);

/* Whether the answers named no job. */
bool job_outcomes_is_empty(const struct job_outcomes *outcomes);

/* Prints the results; failures go to standard error, except the last, which is
 * returned as the error: -ENOENT or -EACCES. With `is_range`, missing jobs are
 * no failure. `selected` says which jobs were asked for: "in state Pending".
 */
int job_outcomes_print(struct job_outcomes *outcomes, bool is_range, const char *selected,
                       struct error *err);
