/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - what launch.c and the shepherd agree on, and nobody else
 *
 * The descriptors a shepherd is started with, and the signal it listens to
 * with its value. Any change here is one for both sides of a running system:
 * shepherds of the last release are spoken to by the next one's agent.
 *
 * Thread: any.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define HANDOVER_ORDER_FD  3
#define HANDOVER_SCRIPT_FD 4

/* Where the order would be, a socket instead says that this is to be a fork
 * server (fork_server.h): each message on it asks for a fork, with the
 * descriptors of order, script, channel and home cgroup, those of them that there
 * are, and is answered with the pidfd of the new process.
 *
 * The channel is a socket between the agent that had the shepherd forked and the
 * shepherd. When that has written its exit record it says on it who it is, and
 * waits there for another message of this kind, with an order and a script: it
 * answers that again before it reads the order, and is that pod's shepherd from
 * then on. Signals that came before its answer were meant for another pod, and
 * are dropped; so the agent gives its pidfd to nobody before that. One
 * that does not stay closes its end, as does an agent that ends.
 */
#define HANDOVER_CHANNEL_FD 5
#define HANDOVER_FORK_FDS   4
struct handover_fork {
    uint32_t has_script, has_home;
    uint32_t has_channel; /* agents of the last release do not say that */
};
struct handover_forked {
    int32_t result; /* 0, or a negative errno */
    int32_t pid;
};

/* The value of the signal: a signal to be passed on, and to whom, in its lower
 * half. Where that has no signal, the upper half is a time limit in seconds (0:
 * none) for the job that runs; shepherds of the last release ignore such.
 */
#define HANDOVER_SIGNAL              (SIGRTMIN + 5)
#define HANDOVER_VALUE(scope, signo) ((int)(scope) << 8 | (signo))
#define HANDOVER_SCOPE(value)        ((enum launch_scope)((value) >> 8))
#define HANDOVER_SIGNO(value)        ((value)&0xff)
#define HANDOVER_LIMIT(seconds) \
    ((uint64_t)(uint32_t)(seconds) << 32 | HANDOVER_IS_LIMIT)
#define HANDOVER_LIMIT_OF(value) ((int64_t)((value) >> 32))
#define HANDOVER_IS_LIMIT        (INT64_C(3) << 8) /* no launch_scope */

/* Likewise: the job is to stand still (1 in the upper half), or to go on (0). */
#define HANDOVER_FREEZE(still)    ((uint64_t)(still) << 32 | HANDOVER_IS_FREEZE)
#define HANDOVER_FREEZE_OF(value) ((value) >> 32 != 0)
#define HANDOVER_IS_FREEZE        (INT64_C(4) << 8)

/* Likewise: the job's checkpoint command is to run, within a grace of so many
 * milliseconds, and the job to be ended then.
 */
#define HANDOVER_CHECKPOINT(grace_ms) \
    ((uint64_t)(uint32_t)(grace_ms) << 32 | HANDOVER_IS_CHECKPOINT)
#define HANDOVER_CHECKPOINT_OF(value) ((int64_t)((value) >> 32))
#define HANDOVER_IS_CHECKPOINT        (INT64_C(5) << 8)

/* Starts the program as a shepherd, or as a fork server, with all signals
 * blocked. The descriptors are above those they are put in; `script_fd` may be
 * -1. Negative errno.
 */
int handover_spawn(const char *program,
                   int order_fd,
                   int script_fd,
                   pid_t *ret_pid);

/* This process becomes that program, a shepherd with the same order and script,
 * if there is one. Returns only when it could not, a negative errno.
 */
struct order;
int handover_become(const char *program, const struct order *order);
