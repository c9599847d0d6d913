/* SPDX-License-Identifier: Apache-2.0 */
/* fork_server.h - a process that forks shepherds
 *
 * It is kiln-shepherd, started once, with its libraries loaded. It forks a
 * shepherd for each order, which costs a third of starting the program (no
 * exec, no linking). It ends with the process that holds the struct; shepherds
 * do not.
 *
 * A shepherd that has finished its pod mostly stays, and gets the next pod
 * without a fork, unless the administrator disabled that (reuseShepherds).
 *
 * Owns:    the process, the socket to it, and shepherds that wait for a pod.
 * Thread:  fork from any; one fork at a time.
 * See:     fork_server_process.h for the process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct fork_server;
struct shepherd_process;

/* Life. fork_server_open starts the process. */
void fork_server_close(struct fork_server *f);
int fork_server_open(const char *program, struct fork_server **ret_server, struct error *err);
DEFINE_CLEANUP(struct fork_server, fork_server_close)

/* Makes each shepherd end with its pod. Call it before the first fork. */
void fork_server_never_reuse(struct fork_server *f);

/* Forks a shepherd that reads its order, and its script if there is one (else
 * -1), from copies of these descriptors. It runs in the cgroup of `home_fd`, or
 * in the fork server's (-1). The order is a pipe that the caller writes when it
 * knows the pid. After a failure the caller uses another pipe, because a
 * shepherd that was forked unnoticed must not get an order. If the fork server
 * has ended, the next call starts another. Shepherds are not the caller's
 * children.
 */
int fork_server_fork(struct fork_server *f, int order_fd, int script_fd, int home_fd,
                     struct shepherd_process *ret_process);

/* Gives the order to a waiting shepherd instead, which stays in the cgroup that
 * it was forked in. -ENOENT: none waits; -EAGAIN: it does not answer; another
 * one may, with another pipe. If the shepherd exceeds the time for its answer,
 * all other waiting shepherds are let go with it.
 */
int fork_server_reuse(struct fork_server *f, int order_fd, int script_fd,
                      struct shepherd_process *ret_process);

/* Call it once the channel is readable. True when the shepherd has finished its
 * pod: then the call takes both descriptors, and the shepherd waits for another
 * pod or ends. Otherwise it closes the channel, and the pidfd tells when the
 * shepherd ends.
 */
bool fork_server_take_back(struct fork_server *f, const struct shepherd_process *process);
