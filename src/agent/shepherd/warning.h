/* SPDX-License-Identifier: Apache-2.0 */
/* warning.h - the signal that a user asked for before the job is ended
 *
 * See:     ksub(1), --signal.
 * Thread:  the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct cgroup;

struct warning {
    int signal;      /* 0: none */
    bool first_only; /* to the job's first process, and to no other */
};

/* Sends the signal: without first_only to what the job's script has started.
 * `first` is the first process, 0 once it has ended; without a cgroup (NULL)
 * all descendants of this process are the job's.
 */
void warning_send(const struct warning *warning, pid_t first, const struct cgroup *cgroup);
