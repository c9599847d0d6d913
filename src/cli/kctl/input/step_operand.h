/* SPDX-License-Identifier: Apache-2.0 */
/* step_operand.h - a numbered step of a running job, as people name it: "17.0", "17_4.0"
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct kctl;

/* Sends a signal to all tasks of the step; 0 ends the step. By the controller, if the user is not
 * the job's or cannot reach its agent. 1: the controller does not know whether the step runs.
 * Errors are those of job_steps_signal (client/job_steps.h), and -EINVAL: the number of the
 * step is too large.
 */
int step_operand_signal(struct kctl *kctl, const char *text, int signal_number, struct arena *arena,
                        struct error *err);

/* Does so for the steps among the operands ("job/17.0", too), with a line for each, and takes them out: those that
 * remain are jobs. Goes on after a failure, and the program's exit code is its (1 for several that differ); if no jobs
 * remain, the last failure is returned, else it is told.
 */
int step_operands_take(struct kctl *kctl, int *n_operands, char **operands, int signal_number,
                       struct arena *arena, struct error *err);

/* Finds the records of the steps among the operands, and takes these out, too. -ENOENT: there is no
 * such step that the user may see; -EINVAL: "17.batch".
 */
int step_operands_find(struct kctl *kctl, int *n_operands, char **operands, struct arena *arena,
                       struct json **ret_records, struct error *err);
