/* SPDX-License-Identifier: Apache-2.0 */
/* step_memory.c - tasks that the kernel has killed because their pod has no more memory
 *
 * The memory is the pod's, of all its steps and its script. With cgroup v2 the kernel kills
 * all of them, this program included, and krun asks the agent (step_why.c); with v1 only one process.
 */
#include "agent/cgroup/cgroup.h"
#include "step/step_state.h"

static uint64_t
count_kills(const struct step *s)
{
    struct cgroup_usage usage = {0};

    if (s->cgroup != NULL)
        cgroup_read_usage(s->cgroup, &usage);
    return usage.oom_kills;
}

void
step_memory_begin(struct step *s)
{
    s->oom_kills = count_kills(s);
}

bool
step_memory_take_kill(struct step *s)
{
    if (count_kills(s) <= s->oom_kills)
        return false;
    s->oom_kills++;
    return true;
}
