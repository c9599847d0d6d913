/* SPDX-License-Identifier: Apache-2.0 */
/* bounded_search.h - the best nodes for a pod, without looking at all the
 * others
 *
 * For a pod whose like has not been seen, so that no kept results have its
 * answers. Brackets of nodes, then nodes, are taken up in the order of the most
 * that they could score (best_score of the plugins); when the best total found
 * is above what is left, the others cannot win, nor tie. What comes out is what
 * looking at every node would give.
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

/* False: nothing is known. Either this cannot be done for the pod (a score is
 * normalized and differs from node to node), or it was given up because so
 * many nodes were looked at in vain, or there is no feasible node. Plugins that
 * depend on other nodes' pods take no part.
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
