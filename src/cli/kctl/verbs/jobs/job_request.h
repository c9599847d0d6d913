/* SPDX-License-Identifier: Apache-2.0 */
/* job_request.h - selects the jobs of a verb, and changes all of them in one
 * request (10000 jobs at a time)
 *
 * The server reports the result for each job (job_outcomes.h).
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/kctl/input/job_selection.h"

struct arena;
struct error;
struct json;
struct kctl;

/* Options select jobs, or operands name them. */
struct job_choice {
    int n_operands;
    char **operands;
    struct job_selection selection;
    const char *label_selector;
    bool all;
};

/* clang-format off */
#define JOB_CHOICE_OPTIONS(holder, at) \
    JOB_SELECTION_OPTIONS(holder, at.selection), \
    {.name = "all", \
    .help = "all jobs that have not ended and that you may change", \
    .type = OPTION_FLAG, \
    .offset = offsetof(holder, at.all)}, \
    {.name = "selector", \
    .letter = 'l', \
    .argument = "LIST", \
    .help = "only jobs with these labels", \
    .type = OPTION_TEXT, \
    .offset = offsetof(holder, at.label_selector)}
/* clang-format on */

/* Fills in the body of a request for the selected jobs: "7", "5,6", "10-20",
 * "1042_[3-9]", "job/7"; a first operand that is the type is skipped. -EINVAL:
 * no job is selected, or both by options and by operands.
 */
int job_request_choose(struct kctl *kctl, const struct job_choice *choice, struct json *body,
                       struct arena *arena, struct error *err);

/* Sends a signal to the steps among the operands (0: ends them), and takes them out of the
 * choice, of which nothing may be left then. -EINVAL: options select jobs, too.
 */
int job_request_take_steps(struct kctl *kctl, struct job_choice *choice, int signal_number,
                           struct arena *arena, struct error *err);

/* Sets the priority in an update: a number, or the name of a class. */
int job_request_set_priority(struct json *update, const char *value, struct arena *arena,
                             struct error *err);

struct job_request {
    const char *action; /* of /kiln/v1/jobs/ACTION */
    const char *does;   /* "Cancel"; the first word of the confirmation */
    bool asks;          /* asks before it changes more than a few jobs */
};

/* Sends the body, repeatedly while there are more jobs, and prints the results.
 */
int job_request_send(struct kctl *kctl, const struct job_request *request,
                     const struct job_choice *choice, struct json *body, struct arena *arena,
                     struct error *err);
