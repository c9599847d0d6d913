/* SPDX-License-Identifier: Apache-2.0 */
/* proposal.h - which pods to preempt on which nodes so that a pod gets room
 *
 * Preemption passes proposals to the extenders, which may change or drop them.
 *
 * Owns:  the names, and a reference to each pod.
 * Thread: the scheduler's.
 */
#pragma once

#include "lib/base/macro.h"

struct pod_view;

struct proposal {
    char *node_name;
    struct pod_view **pods;
    unsigned count;
    unsigned violations; /* of disruption budgets */
};

struct proposals {
    struct proposal *items;
    unsigned count, capacity;
};

/* Life. Take moves the content; `from` is empty afterwards. */
void proposals_fini(struct proposals *p);
void proposals_take(struct proposals *to, struct proposals *from);

void proposals_add(struct proposals *p, const char *node_name, struct pod_view *const *pods,
                   unsigned count, unsigned violations);

/* The proposal for that node, or NULL. */
const struct proposal *proposals_find(const struct proposals *p, const char *node_name);
