/* SPDX-License-Identifier: Apache-2.0 */
/* fork_server.h - a process that forks shepherds
 *
 * Kiln-shepherd, started once, with its libraries loaded: it forks a shepherd
 * for each order it is handed, which costs a third of starting the program (no
 * exec, no linking). It ends with whoever holds the fork server; shepherds do
 * not.
 *
 * Owns:    the process and the socket to it.
 * Thread:  fork from any; one fork at a time.
 * See:     fork_server_process.h for the process.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct fork_server;

/* Life. Open starts the process. */
void fork_server_close(struct fork_server *n);
int fork_server_open(const char *program,
                     struct fork_server **ret_server,
                     struct error *err);
DEFINE_CLEANUP(struct fork_server, fork_server_close)

/* A shepherd that reads its order, and its script if there is one (else -1),
 * from copies of these descriptors; in the cgroup of `home_fd`, or where the
 * fork server is (-1). The order is to be a pipe, and written when the pid is
 * known: a process that has ended is replaced and asked again, and what was
 * forked unnoticed must not have one. Shepherds are not the caller's children.
 */
int fork_server_fork(struct fork_server *n,
                     int order_fd,
                     int script_fd,
                     int home_fd,
                     pid_t *ret_pid,
                     int *ret_pidfd);
