/* SPDX-License-Identifier: Apache-2.0 */
/* step_tasks.h - the processes of the tasks of this node: their start, their signals, their ends
 *
 * Owns:   the processes, what they run (step_plan.h), and PMI-1 (step_pmi.h).
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct arena;
struct cgroup;
struct error;
struct rlimit_setting;
struct step_ending;
struct step_events;
struct step_frame;
struct step_grant;
struct step_input;
struct step_link;
struct step_output;
struct step_pmix;
struct step_request;
struct step_result;
struct step_tasks;
struct step_terminal;

/* All is borrowed, and lives as long as the program. */
struct step_tasks_settings {
    struct arena *arena;
    const struct step_request *request;
    const struct step_grant *grant;
    pid_t job;                   /* its first process on this node */
    const struct cgroup *cgroup; /* of the step; NULL: none */
    struct step_events *events;
    struct step_link *link;
    struct step_input *input;
    struct step_output *output;
    struct step_terminal *terminal;
    struct step_ending *ending;
    struct step_result *result;
    struct step_pmix *pmix;
    /* The soft limit of descriptors that this program began with: it needs many itself. */
    rlim_t n_descriptors;
    const struct rlimit_setting *limits;
    unsigned n_limits;
};

struct step_tasks *step_tasks_new(const struct step_tasks_settings *settings);

/* Begin: from now on the kernel's kills for memory are theirs. Start starts all; what cannot be
 * started has ended. End_unstarted: they were killed before they ran. Reap notes the ends of
 * processes; it returns false when no process of the step is left. Kill kills all of them,
 * also those that a task has left behind.
 */
void step_tasks_begin(struct step_tasks *t);
int step_tasks_start(struct step_tasks *t, struct error *err);
void step_tasks_end_unstarted(struct step_tasks *t);
bool step_tasks_reap(struct step_tasks *t);
void step_tasks_signal(struct step_tasks *t, uint32_t rank, int signal_number);
void step_tasks_kill(void);

/* A frame of PMI-1 from krun. -EBADMSG. */
int step_tasks_receive_pmi(struct step_tasks *t, const struct step_frame *f);

/* Pid: of the task with that index on this node; 0: it never ran, or has ended. */
unsigned step_tasks_count_running(const struct step_tasks *t);
unsigned step_tasks_count(const struct step_tasks *t);
pid_t step_tasks_pid(const struct step_tasks *t, unsigned task);
