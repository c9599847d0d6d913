/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - watches over the job: its start, its end, the processes that
 * it leaves behind
 *
 * Waits for children, for signals of the agent (handover.h), for growing output,
 * and for SIGTERM, which means that the node is being shut down. Other signals to
 * the shepherd are ignored.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shepherd/checkpoint.h"
#include "agent/shepherd/deadline.h"
#include "agent/shepherd/fence.h"
#include "agent/shepherd/output_index.h"
#include "agent/shepherd/warning.h"

struct become_user_report;
struct cgroup;
struct error;

struct supervisor {
    int signal_fd;
    uid_t uid;                   /* of the job */
    pid_t job;                   /* 0 before there is one */
    int job_fd;                  /* its pidfd, or -1 */
    const struct cgroup *cgroup; /* of the job, or NULL */
    struct fence fence;
    struct deadline deadline;
    struct warning warning;
    bool is_starting;             /* the job's program does not run yet */
    bool is_late;                 /* the job was ended at its time limit */
    bool is_told_to_end;          /* all processes, by SIGTERM or SIGKILL */
    bool has_order;               /* of the agent, to end; it came before the job's own end */
    struct checkpoint checkpoint; /* runs before the job is ended */
    int64_t early_grace_us;       /* the checkpoint was requested during the start */
    struct output_index output_index;
    bool is_frozen;      /* the job is to be frozen */
    bool stands_still;   /* all its processes are stopped */
    bool is_being_ended; /* so it is not frozen again */
    int64_t frozen_us;   /* total of former freezes */
    /* called when the job was frozen or thawed */
    void (*note_frozen)(void *context);
    void *context;
    bool is_over; /* the job is dead, with `status` */
    int status;
    bool is_childless;
    int64_t killed_at_us;      /* monotonic: the first SIGKILL to all; or 0 */
    bool is_fenced;            /* killed by the fence */
    bool is_to_exit;           /* SIGTERM came to the shepherd: this is its last pod */
    bool is_shut_down;         /* this is why the job was ended */
    int64_t shutdown_grace_us; /* between SIGTERM and SIGKILL then */
    int cancelled_by;          /* signal that cancelled the start; or 0 */
    bool may_start;            /* a job that awaits its start */
    int64_t signal_sequence;   /* of the last signal of the user that was sent */
};

/* Blocks all signals and becomes a child subreaper, so that no signal and no
 * child is lost.
 */
int supervisor_begin(struct supervisor *v, struct error *err);

/* Reads the agent's signals before there is a job: returns the signal that
 * cancels the start, or 0.
 */
int supervisor_check_cancelled(struct supervisor *v);

/* Waits until the job's program runs: true; or until a step has failed or the
 * start was cancelled: false, with a report, `cancelled_by` or `is_late`.
 * `slow` is called once when the start takes long because something blocks.
 */
bool supervisor_wait_start(struct supervisor *v, int report_fd, void (*slow)(void *context),
                           void *context, struct become_user_report *ret_report);

/* Waits until the job's first process has ended, possibly by the fence or its
 * time limit, and its checkpoint command, if that runs. The time limit counts
 * from here.
 */
void supervisor_wait_end(struct supervisor *v);

/* Kills the remaining processes, and waits at most `wait_ms` for their end, but
 * not for dead ones that another process traces and that therefore cannot be
 * reaped.
 */
bool supervisor_kill_rest(struct supervisor *v, int64_t wait_ms);

/* How long the job has been suspended until now. */
int64_t supervisor_frozen_us(const struct supervisor *v);
