/* SPDX-License-Identifier: Apache-2.0 */
/* group_placer.h - places the pods of a group together: where in the topology, whether
 * there is room for all, and who ends for them
 *
 * Owns:       which groups wait for few switches, and until when.
 * Called by:  the scheduler, around the cycle of a group, and around that of a pod whose
 *             group is in a domain or goes one per node.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct assignment;
struct assignment_group;
struct cache;
struct cache_mark;
struct cycle;
struct group_domains;
struct group_placer;
struct handle;
struct node_finder;
struct planner;
struct pod_groups;
struct pod_placer;
struct pod_view;
struct queue;
struct queued_pod;
struct recorder;
struct snapshot;
struct topology_levels;

/* All of these are borrowed. */
struct group_placer_parts {
    struct handle *handle;
    struct queue *queue;
    struct cache *cache;
    struct snapshot *snapshot;
    struct node_finder *node_finder;
    struct pod_placer *pod_placer;
    struct planner *planner;
    struct recorder *recorder;
    struct pod_groups *pod_groups;
    struct group_domains *domains;
    struct topology_levels *topology; /* NULL: no levels */
    bool is_simulation;               /* nothing is preempted, and nobody is told */
};

/* Life */
void group_placer_free(struct group_placer *placer);
struct group_placer *group_placer_new(const struct group_placer_parts *parts)
    OWNED_BY(group_placer_free);

/* Before a cycle. */

/* Closes the nodes that a pod may not have whose group goes one per node, until
 * cache_open_nodes. False: none, whatever pods are there.
 */
bool group_placer_close_nodes(struct group_placer *placer, const struct pod_view *pod);

/* Lets the cycle of a pod that is placed by itself choose from the domain of its group. */
void group_placer_limit_to_domain(struct group_placer *placer, struct cycle *c);

/* The mark is that of the group's cycle. */

/* Places the members near to each other. False: nothing was done, and they may go anywhere. */
bool group_placer_place(struct group_placer *placer, struct assignment_group *g,
                        struct cache_mark *mark);

/* Answers whether the nodes may have room for all members but the first, which has a node
 * already.
 */
struct answer group_placer_check_room(struct group_placer *placer, struct assignment_group *g);

/* Is called when all are placed, and the answer of the group is OK. The members of a Job
 * whose pods have a node each are placed again so that their indexes are in the order of the
 * topology and of their nodes' names, unless the nodes have too many switches and the group
 * still waits for better ones. The answer of the group then says what became of it.
 */
void group_placer_settle(struct group_placer *placer, struct assignment_group *g,
                         struct cache_mark *mark);

/* Takes all members back, the last one first. */
void group_placer_displace_all(struct group_placer *placer, const struct assignment_group *g);

/* For a group whose cycle has failed and was rolled back: ends pods of lower priority
 * if all of the group then fit.
 */
void group_placer_preempt(struct group_placer *placer, struct assignment_group *g);

/* A leader that was activated may become unschedulable again, because the nodes have no
 * room for its group: a cycle would fail in the same way as the last one.
 */
bool group_placer_sleeps_on(struct group_placer *placer, struct queued_pod *leader);

/* A pod with Slurm's variables is told the domains of its node when it is bound. */
void group_placer_set_domains_told(struct group_placer *placer, struct assignment *a);

/* Tries the groups again whose wait for few switches is over. */
void group_placer_tick(struct group_placer *placer);
