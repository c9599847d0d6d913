/* SPDX-License-Identifier: Apache-2.0 */
/* step_programs.h - a file for --multi-prog: which task of a step runs which program
 *
 *     0-1,5  ./master --rank %t
 *     *      ./worker 'a b'
 *
 * A line has the tasks ("*": all that no other line has), the program and its
 * arguments. %t becomes the task's number and %o its place among the tasks of the
 * line, from 0. Quotes and backslashes keep blanks; a backslash at the end continues a
 * line; a line that begins with # is a comment.
 *
 * Thread:  any; the result is borrowed from its arena.
 * Source:  srun(1) of Slurm 22.05, "multiple program configuration".
 */
#pragma once

struct arena;
struct error;
struct step_programs;

#define STEP_PROGRAMS_BYTES_MOST (1u << 20)

/* -EINVAL with the line: it is malformed, or names a task that another line has or
 * that the step lacks; or a task of the step has no program.
 */
int step_programs_parse(struct arena *arena, const char *text, unsigned n_tasks,
                        struct step_programs **ret_programs, struct error *err);

/* The words of the task's program, NULL-terminated, and then `more`. `task` is below
 * n_tasks.
 */
const char **step_programs_arguments(struct arena *arena, const struct step_programs *programs,
                                     unsigned task, const char *const *more, unsigned n_more);
