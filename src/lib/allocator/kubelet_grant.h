/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet_grant.h - what the kubelet would give a pod here (numaStrategy:
 * kubelet)
 *
 * Only for pods with CPUs of their own. Cores are never split between pods:
 * where the kubelet takes one thread of a core, the other threads are withheld,
 * and only wholly free cores are offered to the kubelet's rules.
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

/* Whether the kubelet's rules cover all that the pod asks for. If they do not,
 * Kiln's own rules decide: a number of threads per core or of cores per
 * package, a distribution, the whole node, the shared pool, or a GPU model.
 */
bool kubelet_grant_knows(const struct demand *d);

enum allocator_answer kubelet_grant(const struct occupancy *o, const struct demand *d,
                                    const struct kubelet_rules *rules, struct grant *ret_grant);
