/* SPDX-License-Identifier: Apache-2.0 */
/* bounded_search.h - finds the best nodes for a pod without evaluating all
 * nodes
 *
 * It serves a pod with a new signature, for which the result cache has nothing. The search
 * takes buckets of nodes, then nodes, in descending order of the score that they could have at
 * most (best_score of the plugins). It stops when the best total found is above the bound of
 * everything left, because the rest can neither win nor tie. The result is the same as after
 * evaluating every node.
 *
 * Owns:    its node buckets, and the results of the last run.
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

/* Returns false when there is no result: a normalized score differs between
 * nodes, or the search gave up after too many infeasible nodes, or no node is
 * feasible. Plugins that depend on other nodes' pods are left out.
 */
bool bounded_search_run(struct bounded_search *s, const struct profile *profile,
                        const struct cycle *c);

/* The last run. */

/* Returns a random one of the best nodes, as node_results_pick would choose. */
struct node_view *bounded_search_pick(const struct bounded_search *s, struct random_source *random,
                                      int64_t *ret_total);

/* Returns how many nodes were evaluated. */
unsigned bounded_search_evaluated(const struct bounded_search *s);

/* Returns how many of these were feasible. */
unsigned bounded_search_feasible(const struct bounded_search *s);

/* Returns the average cost of a run, in node evaluations. */
unsigned bounded_search_cost(const struct bounded_search *s);
