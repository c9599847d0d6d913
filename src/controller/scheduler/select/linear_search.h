/* SPDX-License-Identifier: Apache-2.0 */
/* linear_search.h - filters nodes one after the other until enough are feasible
 *
 * The answers of infeasible nodes are stored by slot.
 *
 * Called by:  node_finder.c, where no kept results can be used.
 * Thread:     the scheduler's.
 * Source:     kube-scheduler, schedule_one.go (findNodesThatPassFilters,
 *             evaluateNominatedNode, findNodesThatPassExtenders).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct extender_results;
struct answer;
struct cycle;
struct prefilter_result;
struct node_view;
struct profile;

struct linear_search {
    const struct profile *profile;
    const struct cycle *c;
    /* Or NULL. A node that an extender refuses is not feasible. */
    const struct extender_results *extender_results;
    uint32_t wanted;
    struct answer *answers;      /* by slot */
    struct node_view **feasible; /* room for all nodes */
    uint32_t found, rejected;
};

/* Searches every node, in a circle from `start`. Returns where the next search begins. */
uint32_t linear_search_all(struct linear_search *s, uint32_t start);

/* Searches only the named nodes. */
void linear_search_named(struct linear_search *s, const struct prefilter_result *prefilter_result);

/* Searches only the node that the pod is nominated to. Returns whether it is feasible. */
bool linear_search_nominated(struct linear_search *s);

/* Searches only the nodes that the extenders allow. */
void linear_search_by_extenders(struct linear_search *s);

/* Searches only the nodes that the cycle may choose from, and of them only the named ones if
 * there are names.
 */
void linear_search_among(struct linear_search *s, const struct prefilter_result *prefilter_result);
