/* SPDX-License-Identifier: Apache-2.0 */
/* descendants.h - the processes that came out of this one
 *
 * For a shepherd without a cgroup. It is a child subreaper, so that whatever
 * its job forks and abandons stays below it and can be found by following
 * parents through /proc.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Sends the signal to each once; returns how many there are, or a negative
 * errno. Those that fork meanwhile may escape: repeat until there are none.
 */
int descendants_signal(int signal_number);

/* Stops each that runs; returns how many did, so that 0 says that all stand
 * still, or a negative errno. The same of one process.
 */
int descendants_stop(void);
bool process_stop(pid_t pid);
