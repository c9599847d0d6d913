/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - starts a shepherd and sends to it
 *
 * The agent's side. A shepherd gets one queued signal with a value that tells
 * what to do. The pidfd (of launch_start, or of live_record_open after a
 * restart) makes sure that no other process gets the signal. Wait until the
 * pidfd, or the channel if there is one (fork_server_take_back), is readable,
 * then read the exit record; a shepherd without a record was killed itself: see
 * live_phase for what that means.
 *
 * Thread: any; starting blocks, so on a worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct fork_server;
struct order;

struct launch {
    const char *program; /* path of kiln-shepherd */
    const struct order *order;
    int script_fd;                   /* starts with order->script_bytes bytes; or -1 */
    struct fork_server *fork_server; /* of that program; or NULL */
};

struct shepherd_process {
    pid_t pid;
    int pidfd;
    int channel; /* readable when the pod is finished; -1: the pidfd only */
};

/* Returns once the program runs; it reads the order and the script on its own.
 * A fork server forks the shepherd, or gives the order to a waiting one; where
 * that fails, the program is started. The caller closes the descriptors and,
 * while it is the parent, reaps with waitid(P_PIDFD).
 */
int launch_start(const struct launch *l, struct shepherd_process *ret_process, struct error *err);

enum launch_scope {
    LAUNCH_MAIN,  /* the job's first process */
    LAUNCH_GROUP, /* its process group */
    LAUNCH_ALL,   /* every process of the pod */
};

/* Returns -ESRCH when the shepherd has ended. */
int launch_signal(int pidfd, enum launch_scope scope, int signal_number, struct error *err);

/* Lets a job start whose order has awaits_start; before its shepherd is prepared,
 * too. Repeating the call has no effect, neither has it for another job.
 */
int launch_let_start(int pidfd, struct error *err);

/* Sets another time limit of the job, from its start on; 0: none. A shepherd of
 * the previous release keeps its own (live_record.h: keeps_limit).
 */
int launch_set_limit(int pidfd, int64_t seconds, struct error *err);

/* Freezes the job, its time limit included, or thaws it; the live record tells
 * when that is done. Repeating the call has no effect. A job that does not run
 * yet, or is being ended, is not frozen; neither is a job whose shepherd cannot
 * freeze (live_record.h: LIVE_CAN_FREEZE).
 */
int launch_set_frozen(int pidfd, bool still, struct error *err);

/* Sends a user's signal to processes of the running job; that is no order to end it.
 * Repeating the call has no effect, and neither has it for a job that does not run
 * yet, or whose shepherd cannot do it (live_record.h: LIVE_CAN_SIGNAL).
 */
struct pod_signal;
int launch_user_signal(int pidfd, const struct pod_signal *signal, struct error *err);

/* Runs the job's checkpoint command, and then ends the job by the warning
 * signal of its order, else by SIGTERM: within this grace period less its last
 * part (deadline.h). Repeating the call has no effect; neither has it for a job
 * that does not run yet, or whose shepherd cannot do it (live_record.h:
 * LIVE_CAN_CHECKPOINT).
 */
int launch_checkpoint(int pidfd, int64_t grace_ms, struct error *err);
