/* SPDX-License-Identifier: Apache-2.0 */
/* node_results.h - what every node answers and scores for pods of one signature
 *
 * Equal pods get equal answers from a node that has not changed, so the answers
 * are kept and only nodes with a newer generation are looked at again. A
 * tournament over the totals finds the best nodes, all ties known, in the
 * logarithm of the number of nodes. Scores that are normalized by the largest
 * are kept raw; when the largest changes all totals are made again.
 *
 * Plugins whose answers depend on other nodes' pods (depends_on_others) take
 * no part: where they have something to say, they are asked of the nodes that
 * are feasible here, and the totals are made of both.
 *
 * Owns:       its arrays; the views are the cache's.
 * Thread:     the scheduler's.
 * Invariant:  after node_results_update, the same as evaluating every node anew
 *             (tested).
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
struct node_results *node_results_new(const struct profile *profile)
    OWNED_BY(node_results_free);
DEFINE_CLEANUP(struct node_results, node_results_free)

/* Brings it up to date with the cycle's snapshot, without the nodes that are
 * rejected whatever they answer: another set costs the nodes by which it differs
 * from the one before. False: these scores cannot be kept (too many different
 * ones), evaluate without.
 */
bool node_results_update(struct node_results *b,
                         const struct cycle *c,
                         const struct rejected_nodes *rejected);

/* Look. Pick: one of the best at random, NULL when none is feasible. Answers:
 * by slot, of every node of the snapshot.
 */
unsigned node_results_feasible(const struct node_results *b);
struct node_view *node_results_pick(const struct node_results *b,
                                    struct random_source *random,
                                    int64_t *ret_total);
const struct answer *node_results_answers(const struct node_results *b);

/* Feasible nodes that are left out until they are unmasked: something that is
 * not kept rejects them, with that answer.
 */
struct node_results_mask {
    struct node_view **nodes;
    unsigned count, capacity;
};
bool node_results_is_feasible(const struct node_results *b,
                              const struct node_view *node);
void node_results_mask(struct node_results *b,
                       struct node_results_mask *mask,
                       struct node_view *node,
                       struct answer answer);
void node_results_unmask(struct node_results *b,
                         struct node_results_mask *mask);

/* The totals that these feasible nodes have among themselves. */
void node_results_totals(const struct node_results *b,
                         const struct node_view *const *nodes,
                         unsigned count,
                         int64_t *totals);
size_t node_results_bytes(const struct node_results *b);

/* How many nodes the last update looked at; and how many one would now, of
 * which `most` is enough.
 */
unsigned node_results_evaluated(const struct node_results *b);
unsigned node_results_count_stale(const struct node_results *b,
                                  const struct snapshot *s,
                                  unsigned most);
