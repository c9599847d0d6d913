/* SPDX-License-Identifier: Apache-2.0 */
/* step_pmi.h - the descriptors by which the tasks of a step on this node speak PMI-1
 *
 * A task that can no longer be waited for, and a task that aborts, end all tasks of
 * the step (step_ending.h).
 *
 * Thread:  the program's only one.
 */
#pragma once

#include <stdint.h>

struct step;
struct step_frame;
struct step_task;

/* The number that the descriptor has in a task. */
#define STEP_PMI_FD 3

/* Before the tasks start. */
void step_pmi_open(struct step *s);

/* *ret_fd is the task's end, which the caller closes; -1: the step has no PMI. */
int step_pmi_connect(struct step *s, struct step_task *t, int *ret_fd);

/* A frame of krun, which has those of other nodes. -EBADMSG. */
int step_pmi_receive(struct step *s, const struct step_frame *f);

/* A task has ended, with that code. */
void step_pmi_end_task(struct step *s, const struct step_task *t, uint32_t code);
