/* SPDX-License-Identifier: Apache-2.0 */
/* answer_counts.h - the answers of all nodes to one shape, added up
 *
 * Kept up to date at the cost of the answers that change.
 *
 * Called by:  kept_refusals.c, node_finder.c.
 * Thread:     the scheduler's.
 * Invariant:  after a change, the same as counting all anew (tested).
 */
#pragma once

#include "controller/scheduler/framework/diagnosis.h"

struct node_view;
struct snapshot;

struct answer_kind; /* so many nodes of one verdict by one plugin */

/* All zero: nothing is counted. */
struct answer_counts {
    struct diagnosis_totals totals; /* for others to read */
    unsigned capacity;              /* of the counts in the totals */
    struct answer_kind *kinds;
    unsigned n_kinds, kinds_capacity;
};

void answer_counts_fini(struct answer_counts *t);
void answer_counts_copy(struct answer_counts *to,
                        const struct answer_counts *from);

/* Make: counts the nodes of the snapshot, anew. Answers are by slot. */
void answer_counts_make(struct answer_counts *t,
                        const struct snapshot *s,
                        const struct answer *answers);

/* That node has said `before` and says by now what is in the answers. */
void answer_counts_change(struct answer_counts *t,
                          const struct snapshot *s,
                          const struct answer *answers,
                          const struct node_view *node,
                          struct answer before);
