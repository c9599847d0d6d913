/* SPDX-License-Identifier: Apache-2.0 */
/* node_use.h - the total that the pods of a node hold of it
 *
 * Pods that were deleted by force count until the agent reports their end.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct node;
struct pod;

/* Must be zeroed at first. */
struct node_use {
    int64_t cpus; /* hardware threads, idle siblings included */
    int64_t memory_bytes;
    int64_t gpus;
    int64_t pods;
    int64_t kept;      /* part of cpus, by node_use_add_kept */
    int64_t n_yielded; /* suspended pods that yield; without CPUs */
    /* The requests of pods without CPUs of their own, in thousandths. */
    int64_t shared_milli;
};

/* All CPUs that are not free: those of pods, and what others request of the rest. */
int64_t node_use_cpus(const struct node_use *use);

/* The CPUs of one pod in thousandths, hardware threads that are kept idle for it included. */

/* Returns what a bound pod holds, even if others use the CPUs while it is suspended. */
int64_t node_use_held_milli(const struct pod *pod);

/* Returns what the pod will hold of this node once it starts there. */
int64_t node_use_planned_milli(const struct pod *pod, const struct node *node);

/* A pod that has ended adds nothing. */
void node_use_add_pod(struct node_use *use, const struct pod *pod);
void node_use_add_remnants(struct node_use *use, const struct node *node);

/* CPUs of pods that yielded stay reserved for those pods unless others use them
 * now; no CPU counts twice. Note all pods of the node first, then add. Must be
 * zeroed at first.
 */
struct node_lending {
    struct bitset lent; /* all CPUs of the pods that yielded */
    struct bitset taken;
};
void node_lending_note(struct node_lending *lending, const struct pod *pod);
void node_use_add_kept(struct node_use *use, const struct node_lending *l, const struct node *node);
