/* SPDX-License-Identifier: Apache-2.0 */
/* step_figures.h - what kiln-step tells its agent about its tasks
 *
 * A small file that the agent makes for each step on a node. Kiln-step has it in its
 * memory from before it becomes the user, and closes it then: it can change the
 * numbers, but not let the file grow. So the numbers are there for the agent at
 * any time, also for one that was not there when the step ended.
 *
 * Kiln-step runs as the user, who can make it tell anything about the user's own step.
 *
 * Thread:  the writer is kiln-step, the reader its agent; a number is written at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STEP_FIGURES_FD      2 /* of kiln-step, when it starts */
#define STEP_FIGURES_VERSION 1

enum step_figures_flag {
    STEP_FIGURES_BEGAN = 1 << 0,     /* the tasks were started */
    STEP_FIGURES_OVER = 1 << 1,      /* all tasks have ended by themselves, or by krun */
    STEP_FIGURES_TIMED_OUT = 1 << 2, /* krun has ended them at the step's time limit */
    STEP_FIGURES_CANCELLED = 1 << 3, /* by scancel */
};

/* Members may be added at the end; an older kiln-step leaves them 0. */
struct step_figures {
    uint32_t version; /* 0: nothing was written */
    uint32_t flags;
    uint32_t tasks;     /* on this node */
    uint32_t exit_code; /* the highest: 128 and the number of a signal */
    uint32_t signal;    /* of the task with the highest exit code; 0: none */
    uint32_t reserved;
    uint64_t cpu_user_us, cpu_system_us; /* of processes that have ended */
    uint64_t peak_memory_bytes;          /* of one of these */
};

/* As text, from kiln-step to krun and from krun to the step manager, as the payload of END.
 * Parse returns -EBADMSG. Add makes those of a step of those of its nodes; a sum begins
 * as zero.
 */
struct strbuf;
void step_figures_format(const struct step_figures *figures, struct strbuf *out);
int step_figures_parse(const char *text, size_t length, struct step_figures *ret_figures);
void step_figures_add(struct step_figures *sum, const struct step_figures *one);
