/* SPDX-License-Identifier: Apache-2.0 */
/* rejected_nodes.h - a set of nodes that are rejected, and the common answer
 *
 * Called by:  timed_choice.c (makes it), node_results.c, kept_refusals.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/sets/node_set.h"
#include "controller/scheduler/framework/verdict.h"

/* Rejected whatever is on the nodes. */
struct rejected_nodes {
    const struct node_set *nodes; /* borrowed; NULL: none */
    struct answer answer;
};

static inline uint64_t
node_set_id(const struct rejected_nodes *rejected)
{
    return rejected->nodes != NULL ? rejected->nodes->id : 0;
}

static inline bool
rejects_node(const struct rejected_nodes *rejected, uint32_t slot)
{
    return rejected->nodes != NULL && node_bits_has(&rejected->nodes->bits, slot);
}
