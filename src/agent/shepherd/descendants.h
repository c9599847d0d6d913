/* SPDX-License-Identifier: Apache-2.0 */
/* descendants.h - all descendants of this process
 *
 * For a shepherd without a cgroup. It is a child subreaper, so that processes
 * that its job forks and abandons remain its descendants and can be found by
 * following parents through /proc.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct strbuf;

/* Sends the signal to each descendant once, except to that one (0: none);
 * returns their number, or a negative errno. Processes that fork meanwhile may
 * escape: repeat the call until it returns 0.
 */
int descendants_signal(int signal_number, pid_t spared);

/* Visits each descendant that is not dead, until the first negative result. */
int descendants_visit(int (*visit)(pid_t pid, void *context), void *context);

/* descendants_stop stops each running descendant; returns how many it stopped,
 * so 0 means that all are stopped, or a negative errno. process_stop does the
 * same for one process.
 */
int descendants_stop(void);
bool process_stop(pid_t pid);

/* Whether the process runs a shell, and whether it has a handler for the
 * signal; false also for a process that is gone or cannot be read.
 */
bool process_is_shell(pid_t pid);
bool process_catches(pid_t pid, int signal_number);

/* Appends the value of that member of /proc/PID/status; not that of "Name",
 * which is the first one and the process's choice. False: there is none.
 */
bool process_read_status(pid_t pid, const char *name, struct strbuf *ret_value);
