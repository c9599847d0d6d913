/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan.h - what one task runs, with what environment, on which CPUs, and the
 * files that its streams are
 *
 * Thread: the program's only one.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/step/step_frames.h"

struct arena;
struct error;
struct step_grant;
struct step_plan;
struct step_pmix;
struct step_request;

/* All is borrowed for as long as the plan is used. */
struct step_plan_settings {
    struct arena *arena;
    const struct step_request *request;
    const struct step_grant *grant;
    const struct step_pmix *pmix;
    bool has_pmi;    /* PMI-1 */
    bool is_foreign; /* krun is on another node, and its environment is of that one */
    pid_t job;       /* its first process on this node */
};

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

/* The parts that all tasks have in common, in the arena. -EINVAL, -ENOSPC: the request does
 * not fit the CPUs of the step, or its file of programs is wrong.
 */
int step_plan_make(const struct step_plan_settings *settings, struct step_plan **ret_plan,
                   struct error *err);

/* Of the task with that index on this node; borrowed from the arena. */
void step_plan_of_task(const struct step_plan *p, unsigned task, struct task_plan *ret_plan);
