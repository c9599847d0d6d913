/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - starts a shepherd and speaks to one
 *
 * The agent's side. A shepherd is spoken to by one queued signal that carries
 * what to send on to whom; the descriptor (of launch_start, or of
 * live_record_open after a restart) makes sure that nobody else gets it. Follow
 * it by waiting for the descriptor to become readable, or its channel, if it has
 * one (fork_server_take_back), then read the ending; one that left none was killed
 * itself: see live_phase for what that means.
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
    const char *program; /* ".../kiln-shepherd" */
    const struct order *order;
    int script_fd; /* of order->script_bytes bytes at its start, or -1 */
    struct fork_server *fork_server; /* of that program; or NULL */
};

struct shepherd_process {
    pid_t pid;
    int pidfd;
    int channel; /* says when it has done with the pod; -1: it ends then */
};

/* Returns once the program runs; the order and the script it reads on its own.
 * With a fork server, that forks it, or has one that waits; the program is started
 * where it does not. The caller closes the descriptors and, while it is the parent,
 * reaps with waitid(P_PIDFD).
 */
int launch_start(const struct launch *l,
                 struct shepherd_process *ret_process,
                 struct error *err);

enum launch_scope {
    LAUNCH_MAIN,  /* the job's first process */
    LAUNCH_GROUP, /* its process group */
    LAUNCH_ALL,   /* every process of the pod */
};

/* -ESRCH when the shepherd has ended. */
int launch_signal(int pidfd,
                  enum launch_scope scope,
                  int signal_number,
                  struct error *err);

/* Gives the job another time limit, from its start on; 0: none. A shepherd of
 * the last release keeps the one it has (live_record.h: keeps_limit).
 */
int launch_set_limit(int pidfd, int64_t seconds, struct error *err);

/* Has the job stand still, its time limit too, or go on; the live record says
 * when it does. To say so twice changes nothing. A job that does not run yet, or
 * is being ended, goes on; so does one of a shepherd that knows nothing of
 * it (live_record.h: LIVE_CAN_FREEZE).
 */
int launch_set_frozen(int pidfd, bool still, struct error *err);

/* Has the job's checkpoint command run, and then the job told to end, by the signal
 * that its order has for its warning, else by SIGTERM: within this grace but for
 * its last part (deadline.h). To say so twice changes nothing; to a job that
 * does not run yet, or whose shepherd knows nothing of it (live_record.h:
 * LIVE_CAN_CHECKPOINT), likewise.
 */
int launch_checkpoint(int pidfd, int64_t grace_ms, struct error *err);
