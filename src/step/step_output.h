/* SPDX-License-Identifier: Apache-2.0 */
/* step_output.h - what the tasks of this node write, on its way to krun
 *
 * Tasks are named by their index on this node.
 *
 * Owns:   krun's ends of the pipes, and the master of a terminal.
 * Thread: the program's only one.
 */
#pragma once

#include <stdint.h>

#include "lib/step/step_frames.h"

struct step_events;
struct step_link;
struct step_output;

struct step_output *step_output_new(struct step_events *events, struct step_link *link,
                                    const unsigned *ranks, unsigned n_tasks);

/* Open makes a pipe; *ret_fd is the task's end, which the caller closes. Add_terminal takes the
 * master of a terminal, the task's one output, until the task has ended. Close_terminal lets it
 * go without a word to krun. Terminal returns it, or -1.
 */
int step_output_open(struct step_output *o, unsigned task, enum step_stream stream, int *ret_fd);
void step_output_add_terminal(struct step_output *o, unsigned task, int fd TAKES);
void step_output_end_task(struct step_output *o, unsigned task);
void step_output_close_terminal(struct step_output *o, unsigned task);
int step_output_terminal(const struct step_output *o, unsigned task);

/* Krun takes so many bytes more: 0, or -EBADMSG. */
int step_output_credit(struct step_output *o, enum step_stream stream, uint32_t bytes);

/* Words of kiln-step on a task's standard error, if krun takes them now. */
void step_output_add_notice(struct step_output *o, unsigned task, const char *words);

/* Pump sends what is ready, as far as windows and link allow. Find_ends, when no process of the
 * tasks is left, finds those that krun gave no credit for; give_up ends those that somebody else
 * holds open. Count: outputs that have not ended.
 */
void step_output_pump(struct step_output *o);
void step_output_find_ends(struct step_output *o);
void step_output_give_up(struct step_output *o);
unsigned step_output_count(const struct step_output *o);
