/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet_grant.h - what the kubelet would give a pod here (numaStrategy:
 * kubelet)
 *
 * It serves pods with CPUs of their own. Cores are never split between pods:
 * where the kubelet takes one thread of a core, the other is withheld, and only
 * cores that are wholly free are offered to the kubelet's rules.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#include "lib/allocator/allocator.h"
#include "lib/allocator/kubelet/cpu_manager.h"

struct demand;
struct occupancy;

struct kubelet_rules {
    struct cpu_options options;
    bool prefers_closest;
};

/* Whether its rules know all that the pod asks; otherwise Kiln's own decide:
 * threads or cores of each core or package, distribution, the whole node, the
 * shared pool, the model of a GPU.
 */
bool kubelet_grant_knows(const struct demand *d);

enum allocator_answer kubelet_grant(const struct occupancy *o,
                                    const struct demand *d,
                                    const struct kubelet_rules *rules,
                                    struct grant *ret_grant);
