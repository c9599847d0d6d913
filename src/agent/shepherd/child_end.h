/* SPDX-License-Identifier: Apache-2.0 */
/* child_end.h - how a child has ended, also one that cannot be reaped
 *
 * A process that another one traces stays a zombie after its death until the
 * other one lets go of it, and until then its parent is neither told nor can it
 * reap the process. Any process of the same user can trace a job. The kernel
 * tells the death by the pidfd nevertheless. A tracer can also stop a killed
 * process just before its death (PTRACE_O_TRACEEXIT), for as long as the tracer
 * lives.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct cgroup;

/* Waits at most that long until the process is dead, with all its threads. -1
 * as pidfd: false, at once.
 */
bool child_end_wait(int pidfd, int wait_ms);

/* Takes the status of a child that is dead. 1: it is reaped; 0: another process
 * traces it, and it stays a zombie; a negative errno.
 */
int child_end_take(pid_t pid, int *ret_status);

/* Lets a process die that was killed, but stands still in the trace of another
 * process of that user: kills the tracer. Nothing happens to tracers of others,
 * root's included. Free_all does that for all processes of the cgroup, or, if that
 * is NULL, all descendants of this process.
 */
void child_end_free(pid_t pid, uid_t user);
void child_end_free_all(const struct cgroup *cgroup, uid_t user);
