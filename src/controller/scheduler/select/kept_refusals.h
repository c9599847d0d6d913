/* SPDX-License-Identifier: Apache-2.0 */
/* kept_refusals.h - the answers of all nodes to shapes of which hardly any node had
 * room
 *
 * A pod whose like found nothing before is refused again at the cost of the nodes
 * that have changed since: their answers are made anew, those of the others are
 * kept, and so is the count of the reasons. Smaller than node_results.h, which
 * has what choosing takes, too.
 *
 * Called by:  node_finder.c.
 * Thread:     the scheduler's.
 * Invariant:  answers are those of filters that depend neither on other nodes nor
 *             on time.
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

/* More nodes with room than this are for those who choose. */
#define REFUSAL_FEASIBLE_MOST 8u

/* All of it is borrowed until the next call. */
struct refusal_answers {
    const struct answer *answers; /* by slot */
    struct node_view *feasible[REFUSAL_FEASIBLE_MOST];
    unsigned n_feasible;
    unsigned evaluated;                 /* by this call */
    const struct answer_counts *counts; /* of all answers */
};

/* Life. Bytes: as much is kept, by what was asked for last; 0: 32 MiB. */
void kept_refusals_free(struct kept_refusals *r);
struct kept_refusals *kept_refusals_new(size_t bytes)
    OWNED_BY(kept_refusals_free);
DEFINE_CLEANUP(struct kept_refusals, kept_refusals_free)

/* Keep: the nodes of the cycle's snapshot have answered so, with those that are
 * rejected whatever they answer.
 */
void kept_refusals_keep(struct kept_refusals *r,
                        const struct cycle *c,
                        uint32_t signature,
                        const struct rejected_nodes *rejected,
                        const struct answer *answers);

/* False: nothing is kept of it, other nodes were rejected, or too many nodes have
 * room by now.
 */
bool kept_refusals_find(struct kept_refusals *r,
                        const struct profile *profile,
                        const struct cycle *c,
                        uint32_t signature,
                        const struct rejected_nodes *rejected,
                        struct refusal_answers *ret_refusal);
