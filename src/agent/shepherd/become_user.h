/* SPDX-License-Identifier: Apache-2.0 */
/* become_user.h - turns a new process into the user's job
 *
 * A new process changes from root with the agent's environment to the user's
 * program in steps: `steps` in become_user.c has their order, which matters.
 * Everything is prepared before the fork (prepared_job.h), because between fork
 * and exec only system calls are safe.
 *
 * Without root, the steps that need root are skipped.
 *
 * Thread: the job's new process, before it runs its program.
 */
#pragma once

#include "lib/base/macro.h"

struct prepared_job;

/* Runs in the child and never returns: either the program runs, or a report is
 * written.
 */
void become_user_and_run(const struct prepared_job *job) NORETURN;

/* The report of a failed step, which the parent reads. */
struct become_user_report {
    int step;
    int error_number;
};

/* For a program that goes on as the user itself (kiln-step): all steps but the last.
 * Returns 0, or a negative errno and the step that failed.
 */
int become_user(const struct prepared_job *job, struct become_user_report *ret_report);
const char *become_user_step_name(const struct become_user_report *report);
