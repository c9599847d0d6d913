/* SPDX-License-Identifier: Apache-2.0 */
/* node_results.h - the answers and scores of every node for pods of one
 * signature
 *
 * Equal pods get equal answers from a node that has not changed. So the answers
 * are kept, and only nodes with a newer generation are evaluated again. A
 * tournament tree over the totals finds the best nodes, with all ties, in time
 * logarithmic in the number of nodes. Scores that are normalized by the largest
 * one are kept raw; when the largest changes, all totals are computed again.
 *
 * Plugins whose answers depend on other nodes' pods (depends_on_others) are
 * left out. Where they do not skip the pod, they filter and score the nodes
 * that are feasible here, and the totals are made from both.
 *
 * Owns:       its arrays; the views are the cache's.
 * Thread:     the scheduler's.
 * Invariant:  after node_results_update, the same as after evaluating every
 *             node again (tested).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct node_results;
struct cycle;
struct node_view;
struct profile;
struct random_source;
struct rejected_nodes;
struct snapshot;

void node_results_free(struct node_results *b);
struct node_results *node_results_new(const struct profile *profile) OWNED_BY(node_results_free);
DEFINE_CLEANUP(struct node_results, node_results_free)

/* Updates the results to the cycle's snapshot, without the nodes of `rejected`.
 * Another set of rejected nodes costs as much as it differs from the set
 * before. False: a plugin has too many different scores for them to be kept;
 * evaluate the nodes without this.
 */
bool node_results_update(struct node_results *b, const struct cycle *c,
                         const struct rejected_nodes *rejected);

unsigned node_results_feasible(const struct node_results *b);

/* Returns a random one of the best nodes, NULL when none is feasible. */
struct node_view *node_results_pick(const struct node_results *b, struct random_source *random,
                                    int64_t *ret_total);

/* Returns the answers by slot, for every node of the snapshot. */
const struct answer *node_results_answers(const struct node_results *b);

/* Feasible nodes that are hidden until unmask is called, because a plugin whose
 * answers are not kept rejects them with `answer`.
 */
struct node_results_mask {
    struct node_view **nodes;
    unsigned count, capacity;
};
bool node_results_is_feasible(const struct node_results *b, const struct node_view *node);
void node_results_mask(struct node_results *b, struct node_results_mask *mask,
                       struct node_view *node, struct answer answer);
void node_results_unmask(struct node_results *b, struct node_results_mask *mask);

/* The totals of these feasible nodes when scores are normalized among them
 * alone.
 */
void node_results_totals(const struct node_results *b, const struct node_view *const *nodes,
                         unsigned count, int64_t *totals);
size_t node_results_bytes(const struct node_results *b);

/* The number of nodes that the last update evaluated, and the number that the
 * next one would evaluate, counted up to `most`.
 */
unsigned node_results_evaluated(const struct node_results *b);
unsigned node_results_count_stale(const struct node_results *b, const struct snapshot *s,
                                  unsigned most);
