/* SPDX-License-Identifier: Apache-2.0 */
/* tournament.h - a tournament tree: the best totals by slot, with all ties, in
 * time logarithmic in the number of slots
 *
 * Owns:       the nodes of its tree.
 * Called by:  node_results.c.
 * Thread:     the scheduler's.
 * Invariant:  after a play, a node has the best total below it and the number
 *             of slots that have it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random_source;

#define TOURNAMENT_OUT INT64_MIN /* takes no part */

struct tournament_node {
    int64_t best;
    uint32_t count;
};

/* All zero: not made yet. */
struct tournament {
    struct tournament_node *nodes; /* 1 is the root; leaves begin at n_leaves */
    uint32_t n_leaves;             /* a power of two */
};

void tournament_fini(struct tournament *t);

/* Reset: at least `n_slots` slots, none of which takes part. Set takes
 * effect after play (of that slot) or play all.
 */
void tournament_reset(struct tournament *t, uint32_t n_slots);
static inline void
tournament_set(struct tournament *t, uint32_t slot, int64_t total)
{
    t->nodes[t->n_leaves + slot] = (struct tournament_node){total, total == TOURNAMENT_OUT ? 0 : 1};
}
void tournament_play(struct tournament *t, uint32_t slot);
void tournament_play_all(struct tournament *t);

/* Pick: a random one of the best; at least one slot must take part. */
uint32_t tournament_pick(const struct tournament *t, struct random_source *random,
                         int64_t *ret_total);
size_t tournament_bytes(const struct tournament *t);
