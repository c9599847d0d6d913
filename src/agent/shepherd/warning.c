/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/warning.h"

#include <signal.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/descendants.h"
#include "agent/shepherd/handover.h"
#include "lib/api/pod/pod_signal.h"

struct receivers {
    int signal;
    pid_t spared;
};

static int
send_to_one(pid_t pid, void *context)
{
    const struct receivers *r = context;

    if (pid > 1 && pid != getpid() && pid != r->spared)
        kill(pid, r->signal);
    return 0;
}

/* As in Slurm, where only the processes that the script has started get the
 * signal: it would kill the script's shell, and the job with the shell. A script
 * in another language, or a program that replaced the shell, gets it if it can
 * handle it.
 */
static bool
is_spared(pid_t first, int signal)
{
    return process_is_shell(first) || !process_catches(first, signal);
}

void
warning_send(const struct warning *w, pid_t first, const struct cgroup *cgroup)
{
    struct receivers receivers = {.signal = w->signal};

    if (w->first_only) {
        if (first != 0)
            kill(first, w->signal);
        return;
    }
    if (first != 0 && !w->spares_none && is_spared(first, w->signal))
        receivers.spared = first;
    if (cgroup != NULL)
        cgroup_visit_processes(cgroup, send_to_one, &receivers);
    else
        descendants_signal(receivers.signal, receivers.spared);
}

void
warning_send_once(uint64_t value, int64_t *last, pid_t first, const struct cgroup *cgroup)
{
    const int64_t sequence = HANDOVER_USER_SIGNAL_SEQUENCE(value);
    const struct warning w = {
        .signal = HANDOVER_USER_SIGNAL_SIGNO(value),
        .first_only = HANDOVER_USER_SIGNAL_TARGET(value) == POD_SIGNAL_SCRIPT,
        .spares_none = HANDOVER_USER_SIGNAL_TARGET(value) == POD_SIGNAL_ALL,
    };

    if (sequence <= *last)
        return;
    *last = sequence;
    warning_send(&w, first, cgroup);
}
