/* SPDX-License-Identifier: Apache-2.0 */
/* proposal.h - who would have to leave which node so that a pod can come
 *
 * What preemption puts before the extenders, and what they make of it.
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
    unsigned violations; /* of budgets */
};

struct proposals {
    struct proposal *items;
    unsigned count, capacity;
};

/* Life. Take: the second is empty then. */
void proposals_fini(struct proposals *p);
void proposals_take(struct proposals *to, struct proposals *from);

/* Change */
void proposals_add(struct proposals *p,
                   const char *node_name,
                   struct pod_view *const *pods,
                   unsigned count,
                   unsigned violations);

/* Look: of that node, or NULL. */
const struct proposal *proposals_find(const struct proposals *p,
                                      const char *node_name);
