/* SPDX-License-Identifier: Apache-2.0 */
/* step_pmi.h - the descriptors by which the tasks of a step on this node speak PMI-1
 *
 * A task that can no longer be waited for, and a task that aborts, end all tasks of
 * the step (step_ending.h). Tasks are named by their index on this node.
 *
 * Thread:  the program's only one.
 */
#pragma once

#include <stdint.h>

struct step_ending;
struct step_events;
struct step_frame;
struct step_grant;
struct step_link;
struct step_pmi;

/* The number that the descriptor has in a task. */
#define STEP_PMI_FD 3

/* Before the tasks start. */
struct step_pmi *step_pmi_new(const struct step_grant *grant, struct step_events *events,
                              struct step_link *link, struct step_ending *ending);

/* The functions below take NULL, too: the step has no PMI. */

/* *ret_fd is the task's end, which the caller closes; without PMI it does not change. */
int step_pmi_connect(struct step_pmi *p, unsigned task, int *ret_fd);

/* A frame of krun, which has those of other nodes. -EBADMSG. */
int step_pmi_receive(struct step_pmi *p, const struct step_frame *f);

/* A task has ended, with that code. */
void step_pmi_end_task(struct step_pmi *p, unsigned task, uint32_t code);
