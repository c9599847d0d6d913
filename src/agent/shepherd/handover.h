/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - the protocol between launch.c and the shepherd
 *
 * It defines the descriptors that a shepherd is started with, and the signal
 * that it receives with its values. Any change must keep both sides of a
 * running system compatible: the next release's agent sends to shepherds of the
 * previous release.
 *
 * Thread: any.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define HANDOVER_ORDER_FD  3
#define HANDOVER_SCRIPT_FD 4

/* A socket in place of the order means that the process is to be a fork server
 * (fork_server.h). Each message on the socket requests a fork, with the
 * descriptors of order, script, channel and home cgroup that exist, and is
 * answered with the pidfd of the new process.
 *
 * The channel is a socket between the shepherd and the agent that had it
 * forked. After the shepherd has written its exit record, it sends its identity
 * on the channel, and waits there for another message of this kind, with an
 * order and a script. It answers again before it reads the order, and then is
 * that pod's shepherd. Signals that came before this answer were meant for the
 * former pod, and are dropped; so the agent uses the pidfd for the new pod only
 * after the answer. A shepherd that does not stay closes its end, and so does
 * an agent that ends.
 */
#define HANDOVER_CHANNEL_FD 5
#define HANDOVER_FORK_FDS   4
struct handover_fork {
    uint32_t has_script, has_home;
    uint32_t has_channel; /* agents of the previous release leave it 0 */
};
struct handover_forked {
    int32_t result; /* 0, or a negative errno */
    int32_t pid;
};

/* The value of the signal. The lower half is a signal to forward and its scope.
 * If the lower half has no signal, the upper half is a time limit in seconds
 * (0: none) for the running job; shepherds of the previous release ignore such
 * a value.
 */
#define HANDOVER_SIGNAL              (SIGRTMIN + 5)
#define HANDOVER_VALUE(scope, signo) ((int)(scope) << 8 | (signo))
#define HANDOVER_SCOPE(value)        ((enum launch_scope)((value) >> 8))
#define HANDOVER_SIGNO(value)        ((value)&0xff)
#define HANDOVER_LIMIT(seconds)      ((uint64_t)(uint32_t)(seconds) << 32 | HANDOVER_IS_LIMIT)
#define HANDOVER_LIMIT_OF(value)     ((int64_t)((value) >> 32))
#define HANDOVER_IS_LIMIT            (INT64_C(3) << 8) /* not a launch_scope */

/* Likewise: the job is to be frozen (1 in the upper half), or thawed (0). */
#define HANDOVER_FREEZE(still)    ((uint64_t)(still) << 32 | HANDOVER_IS_FREEZE)
#define HANDOVER_FREEZE_OF(value) ((value) >> 32 != 0)
#define HANDOVER_IS_FREEZE        (INT64_C(4) << 8)

/* Likewise: the job's checkpoint command is to run, within a grace period of
 * that many milliseconds, and then the job is to end.
 */
#define HANDOVER_CHECKPOINT(grace_ms) \
    ((uint64_t)(uint32_t)(grace_ms) << 32 | HANDOVER_IS_CHECKPOINT)
#define HANDOVER_CHECKPOINT_OF(value) ((int64_t)((value) >> 32))
#define HANDOVER_IS_CHECKPOINT        (INT64_C(5) << 8)

/* Likewise: a job whose order has awaits_start may start. */
#define HANDOVER_IS_START (INT64_C(6) << 8)

/* Likewise: a signal of the user (lib/api/pod/pod_signal.h), with its number and its
 * target. A sequence that came before is that of a signal that was sent already.
 */
#define HANDOVER_USER_SIGNAL(sequence, target, signo)                                              \
    ((uint64_t)(uint32_t)((uint32_t)(sequence) << 8 | (uint32_t)(target) << 6 | (uint32_t)(signo)) \
         << 32                                                                                     \
     | HANDOVER_IS_USER_SIGNAL)
#define HANDOVER_USER_SIGNAL_SEQUENCE(value) ((int64_t)((value) >> 40))
#define HANDOVER_USER_SIGNAL_TARGET(value)   ((value) >> 38 & 3)
#define HANDOVER_USER_SIGNAL_SIGNO(value)    ((int)((value) >> 32 & 0x3f))
#define HANDOVER_IS_USER_SIGNAL              (INT64_C(7) << 8)

/* Starts the program as a shepherd, or as a fork server, with all signals
 * blocked. The descriptors must be greater than the numbers that they are moved
 * to; `script_fd` may be -1. Negative errno.
 */
int handover_spawn(const char *program, int order_fd, int script_fd, pid_t *ret_pid);

/* Executes that program in this process, as a shepherd with the same order and
 * script, if there is one. Returns only on failure, with a negative errno.
 */
struct order;
int handover_become(const char *program, const struct order *order);
