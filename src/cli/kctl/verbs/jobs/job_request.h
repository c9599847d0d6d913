/* SPDX-License-Identifier: Apache-2.0 */
/* job_request.h - which jobs a verb means, and the requests that change them:
 * one for all, whatever their number (10000 at a time)
 *
 * The server says of each job what became of it (job_outcomes.h).
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

/* Jobs are selected by options, or named by operands. */
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
    .help = "the jobs with these labels", \
    .type = OPTION_TEXT, \
    .offset = offsetof(holder, at.label_selector)}
/* clang-format on */

/* The body of a request about them: "7", "5,6", "10-20", "1042_[3-9]", "job/7"; a
 * first operand that is the type is none. -EINVAL: none, or both ways.
 */
int job_request_choose(struct kctl *kctl,
                       const struct job_choice *choice,
                       struct json *body,
                       struct arena *arena,
                       struct error *err);

/* Part of an update: a number, or the name of a class. */
int job_request_set_priority(struct json *update,
                             const char *value,
                             struct arena *arena,
                             struct error *err);

struct job_request {
    const char *action; /* of /kiln/v1/jobs/ACTION */
    const char *does;   /* "Cancel"; what a question begins with */
    bool asks;          /* before more than a few are changed */
};

/* Sends the body, as often as there are more, and prints what became of the
 * jobs.
 */
int job_request_send(struct kctl *kctl,
                     const struct job_request *request,
                     const struct job_choice *choice,
                     struct json *body,
                     struct arena *arena,
                     struct error *err);
