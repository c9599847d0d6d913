/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - nodes looked at one after the other, until enough are feasible
 *
 * What each one that is not feasible said is left by its slot.
 *
 * Called by:  chooser.c, where no board can be used.
 * Source:     kube-scheduler, schedule_one.go (findNodesThatPassFilters,
 *             evaluateNominatedNode, findNodesThatPassExtenders).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct counsel;
struct answer;
struct cycle;
struct narrowing;
struct node_view;
struct profile;

struct search {
    const struct profile *profile;
    const struct cycle *c;
    const struct counsel
        *counsel; /* or NULL; a node it refuses is not feasible */
    uint32_t wanted;
    struct answer *answers;      /* by slot */
    struct node_view **feasible; /* room for all nodes */
    uint32_t found, rejected;
};

/* All: round the list from `start`; returns where the next one begins. Named:
 * those alone. Nominated: the node the pod is to come to, alone; whether it
 * can. Counselled: those that the counsel speaks well of.
 */
uint32_t search_all(struct search *s, uint32_t start);
void search_named(struct search *s, const struct narrowing *narrowing);
bool search_nominated(struct search *s);
void search_counselled(struct search *s);
