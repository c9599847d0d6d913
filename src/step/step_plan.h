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

struct task_plan {
    char **paths; /* of the program: the first that can run is used */
    char **arguments;
    char **environment;
    const char *files[STEP_STREAMS]; /* NULL: krun has the stream */
    bool is_bound;
    cpu_set_t cpus;
};

/* Of the task with that index on this node; borrowed from the step's arena. */
int task_plan_make(struct step *s, unsigned index, struct task_plan *ret_plan, struct error *err);
