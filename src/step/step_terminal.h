/* SPDX-License-Identifier: Apache-2.0 */
/* step_terminal.h - the pseudo terminal of task 0
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct step_input;
struct step_output;
struct step_terminal;

struct step_terminal *step_terminal_new(struct step_input *input, struct step_output *output);

/* Open makes the terminal of that task of this node; fds are the task's three streams, which the
 * caller closes. Turn types on what the terminal has not taken, and the end of the input; it
 * returns in how many milliseconds to call again, or -1. Hang_up: krun is gone; `reap` says
 * whether programs are left, which get a moment to notice.
 */
int step_terminal_open(struct step_terminal *t, unsigned task, uint16_t rows, uint16_t columns,
                       int fds[3]);
int step_terminal_turn(struct step_terminal *t, int64_t now_ms);
void step_terminal_resize(struct step_terminal *t, uint16_t rows, uint16_t columns);
void step_terminal_hang_up(struct step_terminal *t, bool (*reap)(void *context), void *context);
