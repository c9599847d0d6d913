/* SPDX-License-Identifier: Apache-2.0 */
/* node_use.h - what the pods of a node hold of it, all in all
 *
 * Pods that were deleted by force hold theirs until the agent says otherwise.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct node;
struct pod;

/* Begins zeroed. */
struct node_use {
    int64_t cpus; /* hardware threads, those kept idle included */
    int64_t memory_bytes;
    int64_t gpus;
    int64_t pods;
    int64_t kept;      /* of the CPUs, by node_use_add_kept */
    int64_t n_yielded; /* pods that stand still for others; no CPUs */
};

/* The CPUs of one pod, in thousandths: hardware threads that are kept idle for it
 * count. Held: of a pod that is on a node, whoever has them while it stands still.
 * Planned: what it will hold of this node once it starts there.
 */
int64_t node_use_held_milli(const struct pod *pod);
int64_t node_use_planned_milli(const struct pod *pod, const struct node *node);

/* Of a pod that has ended, nothing. */
void node_use_add_pod(struct node_use *use, const struct pod *pod);
void node_use_add_remnants(struct node_use *use, const struct node *node);

/* CPUs of those who have yielded are kept for them where nobody has them now, and
 * none counts twice. Note all pods of the node, and then add. Begins zeroed.
 */
struct node_lending {
    struct bitset lent; /* all that those who stand still have */
    struct bitset taken;
};
void node_lending_note(struct node_lending *lending, const struct pod *pod);
void node_use_add_kept(struct node_use *use,
                       const struct node_lending *l,
                       const struct node *node);
