/* SPDX-License-Identifier: Apache-2.0 */
/* answer_counts.h - the answers of all nodes to pods of one signature, counted
 *
 * A change costs only as much as the answers that change.
 *
 * Called by:  kept_refusals.c, node_finder.c.
 * Thread:     the scheduler's.
 * Invariant:  after a change, the counts are the same as after counting
 *             everything again (tested).
 */
#pragma once

#include "controller/scheduler/framework/diagnosis.h"

struct node_view;
struct snapshot;

struct answer_kind; /* the number of nodes with one verdict by one plugin */

/* All zero: nothing is counted. */
struct answer_counts {
    struct diagnosis_totals totals; /* read by callers */
    unsigned capacity;              /* of the array of counts in the totals */
    struct answer_kind *kinds;
    unsigned n_kinds, kinds_capacity;
};

void answer_counts_fini(struct answer_counts *c);
void answer_counts_copy(struct answer_counts *to, const struct answer_counts *from);

/* Counts the answers of all nodes in the snapshot. Answers are by slot. */
void answer_counts_make(struct answer_counts *c, const struct snapshot *s,
                        const struct answer *answers);

/* The node's answer was `before` and is now the one in `answers`. */
void answer_counts_change(struct answer_counts *c, const struct snapshot *s,
                          const struct answer *answers, const struct node_view *node,
                          struct answer before);
