/* SPDX-License-Identifier: Apache-2.0 */
/* job_end.h - how a run of a job ended, and its description as text
 *
 * Called by: job_reason.c.
 * Thread:    any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_reason.h"

struct job_run;
struct pod;

/* A run of the job: that of the existing pod, or the last one that is recorded.
 * Texts are borrowed from pod or job, or NULL.
 */
struct job_end {
    const char *node;
    const char *reason;
    const char *message;
    int64_t exit_code;
    int64_t signal;
};

struct job_end job_end_of_run(const struct job_run *run);
struct job_end job_end_of_pod(const struct pod *pod);

/* Whether the pod has ended, or is being deleted after a disruption. */
bool job_end_has_pod(const struct pod *pod);

/* The end of the pod, or of the last run. False: no run has ended. */
bool job_end_find(const struct job_reason_facts *f, struct job_end *ret_end);

bool job_end_is_success(const struct job_end *end);

/* Adds a message without its advice, which follows after a semicolon; readers
 * who want it ask for more. Adds `otherwise` if there is no message or the
 * reader may not see it.
 */
void job_end_add_message(const struct job_reason_facts *f, const char *message,
                         const char *otherwise, struct strbuf *words);

/* Appends the description of the end. */
enum job_reason job_end_describe(const struct job_reason_facts *f, const struct job_end *end,
                                 struct strbuf *words);
