/* SPDX-License-Identifier: Apache-2.0 */
/* step_input.h - what krun reads, on its way to the tasks of this node
 *
 * Tasks are named by their index on this node.
 *
 * Owns:   the ends of the pipes that are written to.
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct step_events;
struct step_frame;
struct step_input;
struct step_link;

struct step_input *step_input_new(struct step_events *events, struct step_link *link,
                                  unsigned n_tasks);

/* Open makes a pipe; *ret_fd is the task's end, which the caller closes. Add_terminal takes a
 * descriptor of the master. Drop: the task reads no more.
 */
int step_input_open(struct step_input *in, unsigned task, int *ret_fd);
void step_input_add_terminal(struct step_input *in, unsigned task, int fd TAKES);
void step_input_drop(struct step_input *in, unsigned task);

/* DATA of krun. -EBADMSG. */
int step_input_receive(struct step_input *in, const struct step_frame *f);

/* For a terminal, which takes what is typed when it likes. Write tries once more; it returns false
 * if there was nothing that the task has not got. Last: the last byte of all; '\n' if there was
 * none. Fd: -1: none.
 */
bool step_input_write(struct step_input *in, unsigned task);
bool step_input_is_over(const struct step_input *in);
char step_input_last(const struct step_input *in);
int step_input_fd(const struct step_input *in, unsigned task);
