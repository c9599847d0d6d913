/* SPDX-License-Identifier: Apache-2.0 */
/* krun_terminal.h - the terminal that krun is started in, while a task has it
 *
 * It is raw then: every key goes to the task's own terminal, which does what a terminal
 * does with it. It is set back at krun's end, also if that is a signal (but SIGKILL),
 * and while krun is stopped.
 *
 * A process has one terminal, so the state is the process's.
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* The size of the first of the three standard files that is a terminal; false: none is. */
bool krun_terminal_size(uint16_t *ret_rows, uint16_t *ret_columns);

/* Enter makes the terminal of standard input raw, if it is one; stops krun until it is in
 * the foreground. Leave sets it back; both may be repeated.
 */
int krun_terminal_enter(struct error *err);
void krun_terminal_leave(void);

/* Stops krun as Ctrl-Z would. It returns when krun goes on, and the caller enters again. */
void krun_terminal_stop(void);

/* Around lines of krun's own, which need what a raw terminal does not do at their ends. */
void krun_terminal_begin_words(void);
void krun_terminal_end_words(void);

/* Opens the terminal of a descriptor a second time: its own flags, so that writing never
 * blocks. -1: it is no terminal, or not ours to open.
 */
int krun_terminal_reopen(int fd);
