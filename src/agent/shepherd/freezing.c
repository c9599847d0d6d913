/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/freezing.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/descendants.h"

static int
stop_one(pid_t pid, void *context)
{
    unsigned *count = context;

    if (pid > 1 && pid != getpid())
        *count += process_stop(pid);
    return 0;
}

bool
freezing_freeze(const struct cgroup *cgroup)
{
    unsigned count = 0;

    if (cgroup == NULL)
        return descendants_stop() == 0;
    if (cgroup_freeze(cgroup, true) == 0)
        return cgroup_is_frozen(cgroup) == 1;
    return cgroup_visit_processes(cgroup, stop_one, &count) == 0 && count == 0;
}

void
freezing_thaw(const struct cgroup *cgroup)
{
    if (cgroup == NULL)
        descendants_signal(SIGCONT, 0);
    else if (cgroup_freeze(cgroup, false) < 0)
        cgroup_signal(cgroup, SIGCONT);
}
