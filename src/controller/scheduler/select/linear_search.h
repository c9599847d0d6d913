/* SPDX-License-Identifier: Apache-2.0 */
/* linear_search.h - nodes looked at one after the other, until enough are
 * feasible
 *
 * What each one that is not feasible said is left by its slot.
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
    const struct extender_results
        *extender_results; /* or NULL; a node it refuses is not feasible */
    uint32_t wanted;
    struct answer *answers;      /* by slot */
    struct node_view **feasible; /* room for all nodes */
    uint32_t found, rejected;
};

/* All: round the list from `start`; returns where the next one begins. Named:
 * those alone. Nominated: the node the pod is to come to, alone; whether it
 * can. By extenders: those that extenders allow.
 */
uint32_t linear_search_all(struct linear_search *s, uint32_t start);
void linear_search_named(struct linear_search *s,
                         const struct prefilter_result *prefilter_result);
bool linear_search_nominated(struct linear_search *s);
void linear_search_by_extenders(struct linear_search *s);
