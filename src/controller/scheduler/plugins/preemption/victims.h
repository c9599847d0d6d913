/* SPDX-License-Identifier: Apache-2.0 */
/* victims.h - who would have to leave a node so that a pod fits there
 *
 * The trial works on the node itself within a journal, which is rolled back,
 * and on a copy of the cycle. It takes away all pods of lower priority and then
 * puts back as many as possible, the most important first and those that a
 * budget protects before the others. The set is minimal, not optimal.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, DefaultPreemption.SelectVictimsOnNode.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct budgets;
struct cycle;
struct node_view;
struct pod_view;
struct profile;
struct proposal;

struct victims {
    const struct node_view *node; /* the real one */
    struct pod_view **pods;       /* the most important first; borrowed */
    unsigned count;
    unsigned violations; /* of budgets */

    /* The criteria of the choice between nodes. */
    int64_t highest_priority;
    double sum_of_priorities;  /* each counts from 2^31 below zero */
    int64_t earliest_start_us; /* among those of the highest priority */
};

void victims_fini(struct victims *v);

/* OK, or the answer why no set of victims helps; `nobody` is the reason where
 * there is none of lower priority.
 */
struct answer victims_find(const struct profile *p,
                           const struct cycle *c,
                           struct node_view *node,
                           struct budgets *budgets,
                           uint32_t nobody,
                           struct victims *ret_victims);

/* The pods that somebody else chose on the node: false where one is not there
 * any more or not of lower priority, or where the preemptor does not fit without
 * them.
 */
bool victims_choose(const struct profile *p,
                    const struct cycle *c,
                    struct node_view *node,
                    const struct proposal *proposal,
                    struct victims *ret_victims);

/* Whether a is the better choice than b, by upstream's criteria in turn. */
int victims_compare(const struct victims *a, const struct victims *b);
