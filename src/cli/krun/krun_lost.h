/* SPDX-License-Identifier: Apache-2.0 */
/* krun_lost.h - why the connection to a step was lost, as the agents of its nodes know it
 *
 * With cgroup v2 the kernel ends kiln-step together with the tasks when their job has no
 * memory left; the agent is not in the job, and knows it.
 *
 * Thread:  the main one; blocks for some seconds at most, unless an agent cannot be reached.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct krun_ends;
struct krun_link;
struct krun_nodes;

struct krun_lost {
    struct krun_nodes *nodes;
    const char *pod_uid;
    int64_t step;
    const struct krun_link *links; /* to the nodes of the step, in the order of its layout */
    unsigned n_links;
};

/* Adds the ends of the tasks that the kernel has killed. False: there is no such node. */
bool krun_lost_explain(const struct krun_lost *lost, struct krun_ends *ends);
