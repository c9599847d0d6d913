/* SPDX-License-Identifier: Apache-2.0 */
/* child_end.h - how a child has ended, also one that cannot be reaped
 *
 * A process that another one traces stays a zombie after its death until the
 * other one lets go of it, and until then its parent is neither told nor can it
 * reap the process. Any process of the same user can trace a job. The kernel
 * tells the death by the pidfd nevertheless.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Waits at most that long until the process is dead, with all its threads. -1
 * as pidfd: false, at once.
 */
bool child_end_wait(int pidfd, int wait_ms);

/* Takes the status of a child that is dead. 1: it is reaped; 0: another process
 * traces it, and it stays a zombie; a negative errno.
 */
int child_end_take(pid_t pid, int *ret_status);
