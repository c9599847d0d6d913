/* SPDX-License-Identifier: Apache-2.0 */
/* victims.h - the pods that must be preempted on a node so that a pod fits
 *
 * The what-if changes the node itself within a journal, which is rolled back,
 * and a copy of the cycle. It removes all pods of lower priority, then puts
 * back as many as possible: first those that a budget protects, and the most
 * important ones first. The set is minimal, not optimal.
 *
 * A pod that ends together with its gang (handle.h, visit_gang) stands for all of
 * it: it is a victim only if all of its gang may be, and is weighed as all of it.
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
    const struct node_view *node; /* the node itself, no copy */
    struct pod_view **pods;       /* the most important first; borrowed */
    unsigned count;
    unsigned violations; /* of budgets */

    /* The criteria of the choice between nodes. */
    int64_t highest_priority;
    double sum_of_priorities;  /* each priority plus 2^31, as upstream */
    unsigned n_ended;          /* with the pods of their gangs on other nodes */
    int64_t earliest_start_us; /* among those of the highest priority */
};

void victims_fini(struct victims *v);

/* OK, or the answer that says why no set of victims helps; `nobody` is the
 * reason when no pod can be a victim.
 */
struct answer victims_find(const struct profile *p, const struct cycle *c, struct node_view *node,
                           struct budgets *budgets, uint32_t nobody, struct victims *ret_victims);

/* Removes the victims, and those that end with them, from their nodes, within the
 * caller's journal; `each` is called for every pod. Pods that are gone already are left
 * out.
 */
void victims_remove(const struct profile *p, const struct cycle *c, const struct victims *v,
                    void (*each)(struct pod_view *pod, const struct node_view *node, void *context),
                    void *context);

/* Checks the victims that an extender chose on the node. False: one is no
 * longer there or cannot be a victim, or the preemptor does not fit without
 * them.
 */
bool victims_choose(const struct profile *p, const struct cycle *c, struct node_view *node,
                    const struct proposal *proposal, struct victims *ret_victims);

/* Kiln's own. When the last victim would be gone at the latest. Are_ending: whether
 * the pods of the node that are ending already, and are gone by that time, make
 * the room; not one that should be gone for long.
 */
int64_t victims_end_us(const struct profile *p, const struct cycle *c, const struct victims *v,
                       int64_t now_us);
bool victims_are_ending(const struct profile *p, const struct cycle *c, struct node_view *node,
                        int64_t now_us, int64_t until_us);

/* Of a group's trial: removes the pods of the node that are ending and gone by that time,
 * within the caller's journal; `each` is called for every one. Ends_by: whether the pod is
 * one.
 */
void victims_remove_ending(struct node_view *node, int64_t now_us, int64_t until_us,
                           void (*each)(struct pod_view *pod, const struct node_view *node,
                                        void *context),
                           void *context);
bool victims_ends_by(const struct pod_view *pod, int64_t now_us, int64_t until_us);

/* Compares by upstream's criteria, one after the other; negative: `a` is the
 * better choice.
 */
int victims_compare(const struct victims *a, const struct victims *b);
