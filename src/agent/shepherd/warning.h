/* SPDX-License-Identifier: Apache-2.0 */
/* warning.h - the signal that a user asked for before the job is ended, or sends to
 * it while it runs
 *
 * See:     ksub(1), --signal; kctl(1), signal.
 * Thread:  the shepherd's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

struct warning {
    int signal;      /* 0: none */
    bool first_only; /* to the job's first process, and to no other */
    bool spares_none;
};

/* Sends the signal: without first_only to what the job's script has started, and
 * with spares_none to the script, too.
 * `first` is the first process, 0 once it has ended; without a cgroup (NULL)
 * all descendants of this process are the job's.
 */
void warning_send(const struct warning *warning, pid_t first, const struct cgroup *cgroup);

/* Sends the user's signal of a HANDOVER_USER_SIGNAL, unless its sequence is not after
 * *last, which becomes that sequence.
 */
void warning_send_once(uint64_t value, int64_t *last, pid_t first, const struct cgroup *cgroup);
