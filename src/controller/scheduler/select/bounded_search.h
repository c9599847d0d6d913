/* SPDX-License-Identifier: Apache-2.0 */
/* bounded_search.h - the best nodes for a pod, without looking at all the
 * others
 *
 * It serves a pod with a new signature, for which the result cache has nothing.
 * The search looks at buckets of nodes, then at nodes, in the order of the most
 * that they could score (best_score of the plugins). It stops when the best
 * total found is above what is left, because the others can neither win nor
 * tie. The result is the one that looking at every node gives.
 *
 * Owns:    its node buckets, and what the last run found.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cycle;
struct node_view;
struct profile;
struct random_source;
struct bounded_search;

void bounded_search_free(struct bounded_search *s);
struct bounded_search *bounded_search_new(void) OWNED_BY(bounded_search_free);
DEFINE_CLEANUP(struct bounded_search, bounded_search_free)

/* Returns false when nothing is known: a score is normalized and differs from
 * node to node, or the search gave up after too many nodes without success, or
 * no node is feasible. Plugins that depend on other nodes' pods take no part.
 */
bool bounded_search_run(struct bounded_search *s,
                        const struct profile *profile,
                        const struct cycle *c);

/* Look: one of the best at random, as node_results_pick would pick it. How many
 * nodes the last run looked at, and how many of them were feasible; what a run
 * costs as a rule, in nodes.
 */
struct node_view *bounded_search_pick(const struct bounded_search *s,
                                      struct random_source *random,
                                      int64_t *ret_total);
unsigned bounded_search_evaluated(const struct bounded_search *s);
unsigned bounded_search_feasible(const struct bounded_search *s);
unsigned bounded_search_cost(const struct bounded_search *s);
