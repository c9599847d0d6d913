/* SPDX-License-Identifier: Apache-2.0 */
/* step_place.h - the CPUs, GPUs and memory that a pod has on this node
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct agent_context;
struct object;
struct step_place;

/* The CPUs of a pod in the order in which steps get them; its owner frees `cpus`. */
struct step_cpu_order {
    struct bitset of;
    uint16_t *cpus; /* NULL: not made yet, or by number */
};

/* Fills in all but what is busy. The place borrows its texts and the order. */
void step_place_fill(const struct agent_context *agent, const struct object *pod,
                     struct step_cpu_order *order, struct step_place *p);
