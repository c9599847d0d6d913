/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan.h - what one task runs, with what environment, on which CPUs, and the
 * files that its streams are
 *
 * Thread: the program's only one.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>

#include "lib/step/step_frames.h"

struct error;
struct step;
struct step_plans;

struct task_plan {
    char **paths; /* of the program: the first that can run is used */
    char **arguments;
    char **environment;
    const char *files[STEP_STREAMS]; /* NULL: krun has the stream */
    /* The file is for all tasks of the node; the first has truncated it. */
    bool shares_file[STEP_STREAMS];
    bool is_bound;
    cpu_set_t cpus;
    const char *notice; /* for krun's standard error, or NULL */
};

/* The parts that all tasks have in common, in the step's arena. -EINVAL, -ENOSPC: the request does
 * not fit the CPUs of the step, or its file of programs is wrong.
 */
int step_plans_make(struct step *s, struct step_plans **ret_plans, struct error *err);

/* Of the task with that index on this node; borrowed from the step's arena. */
void task_plan_make(struct step *s, unsigned index, struct task_plan *ret_plan);
