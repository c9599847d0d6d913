/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - watching over the job: its start, its end, what it leaves
 * behind
 *
 * Waits for children, for words from the agent (handover.h) and for growing
 * output, and for nothing else; what the shepherd itself is sent besides
 * changes nothing.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shepherd/deadline.h"
#include "agent/shepherd/fence.h"
#include "agent/shepherd/output_index.h"

struct become_user_report;
struct cgroup;
struct error;

/* The job's own command that saves its state before it is told to end; it runs
 * once. Times: of the monotonic clock.
 */
struct checkpoint {
    /* Starts it, with its pid as that of its session; or a negative errno. NULL:
     * the job has none.
     */
    pid_t (*start)(void *context, struct error *err);
    bool has_begun; /* or could not be */
    bool was_cut;   /* it was killed because its time was over */
    pid_t pid;      /* 0: it does not run */
    int status;     /* of waitpid, once it has ended */
    int64_t began_us, until_us, ended_us;
    char *failure; /* why it could not be started; NULL: it was */
};

struct supervisor {
    int signal_fd;
    pid_t job;                   /* 0 before there is one */
    const struct cgroup *cgroup; /* of the job, or NULL */
    struct fence fence;
    struct deadline deadline;
    int warn_signal; /* 0: none */
    bool warn_main;
    bool is_starting;             /* the job's program does not run yet */
    bool is_late;                 /* it was ended at its time limit */
    bool is_told_to_end;          /* by SIGTERM or SIGKILL, all of it */
    struct checkpoint checkpoint; /* before that */
    int64_t early_grace_us;       /* it was asked for while the job started */
    struct output_index output_index;
    bool is_frozen;                     /* it is to stand still, */
    bool stands_still;                  /* and does */
    bool is_being_ended;                /* so it is not frozen any more */
    int64_t frozen_us;                  /* how long it has stood still before */
    void (*note_frozen)(void *context); /* either of them has changed */
    void *context;
    bool is_over; /* the job was reaped; its status: */
    int status;
    bool is_childless;
    bool is_fenced;   /* that is why it was killed */
    int cancelled_by; /* the signal that ended it before its start; or 0 */
};

/* Blocks all signals and adopts orphans, so that it cannot miss one. */
int supervisor_begin(struct supervisor *v, struct error *err);

/* Reads the agent's signals before there is a job: the one that is to end
 * it, or 0 as long as it may go on.
 */
int supervisor_check_cancelled(struct supervisor *v);

/* Until the program runs: true, or a step has failed, or it was ended before
 * that: false and why, with a report or cancelled_by or is_late. Slow: called
 * once when that takes long; something hangs.
 */
bool supervisor_wait_start(struct supervisor *v,
                           int report_fd,
                           void (*slow)(void *context),
                           void *context,
                           struct become_user_report *ret_report);

/* Until the job's first process has ended, by the fence or its time limit
 * perhaps, and its checkpoint command, if that runs. The limit counts from here.
 */
void supervisor_wait_end(struct supervisor *v);

/* Kills what is left, and waits as long for it to be gone. */
bool supervisor_kill_rest(struct supervisor *v, int64_t wait_ms);
