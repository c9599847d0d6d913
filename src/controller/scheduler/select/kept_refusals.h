/* SPDX-License-Identifier: Apache-2.0 */
/* kept_refusals.h - keeps the answers of all nodes to pods that fit hardly
 * anywhere
 *
 * When a pod with the same signature comes again, only nodes that have changed
 * are filtered again. The answers of all other nodes and the counts of their
 * reasons are kept. This takes less memory than node_results.h, which also
 * keeps what is needed to choose a node.
 *
 * Called by:  node_finder.c.
 * Thread:     the scheduler's.
 * Invariant:  the answers are those of filters that depend neither on other
 *             nodes nor on time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct answer_counts;
struct cycle;
struct node_view;
struct profile;
struct kept_refusals;
struct rejected_nodes;

/* The answers are not kept when more nodes than this are feasible. */
#define REFUSAL_FEASIBLE_MOST 8u

/* Everything in it is borrowed until the next call. */
struct refusal_answers {
    const struct answer *answers; /* by slot */
    struct node_view *feasible[REFUSAL_FEASIBLE_MOST];
    unsigned n_feasible;
    unsigned evaluated;                 /* nodes filtered by this call */
    const struct answer_counts *counts; /* of all answers */
};

/* Life. `bytes`: memory limit; what was used longest ago is dropped first; 0:
 * 32 MiB.
 */
void kept_refusals_free(struct kept_refusals *r);
struct kept_refusals *kept_refusals_new(size_t bytes) OWNED_BY(kept_refusals_free);
DEFINE_CLEANUP(struct kept_refusals, kept_refusals_free)

/* Keeps the answers of the nodes in the cycle's snapshot, including those of `rejected`,
 * which are rejected whatever the filters answer.
 */
void kept_refusals_keep(struct kept_refusals *r, const struct cycle *c, uint32_t signature,
                        const struct rejected_nodes *rejected, const struct answer *answers);

/* False: nothing is kept for the signature, or it was kept with another set of
 * rejected nodes, or too many nodes are feasible or have changed.
 */
bool kept_refusals_find(struct kept_refusals *r, const struct profile *profile,
                        const struct cycle *c, uint32_t signature,
                        const struct rejected_nodes *rejected, struct refusal_answers *ret_refusal);
