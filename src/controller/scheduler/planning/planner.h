/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - which waiting pods have room reserved, when and where
 *
 * When a cycle finds no room for a pod or a pod group that is one of the first
 * in the order, it gets a reservation (framework/timeline.h). The planner keeps
 * the plans right while the cluster changes, and activates those that may use
 * what a plan has left or reached.
 *
 * Owns:       what is to be planned again and to be reported. The reservations are
 *             the timeline's, and everything else is borrowed.
 * Called by:  the scheduler: around each cycle, at each change and at each tick.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct assignment;
struct cache;
struct clock;
struct diagnosis;
struct group_domains;
struct handle;
struct node_view;
struct planner;
struct pod_groups;
struct pod_view;
struct queue;
struct queued_pod;
struct recorder;
struct reservation;
struct reserved_place;
struct snapshot;
struct string_ids;

/* All of these are borrowed. The handle has the timeline. */
struct planner_parts {
    struct clock *clock;
    struct handle *handle;
    struct queue *queue;
    struct cache *cache;
    struct snapshot *snapshot;
    struct recorder *recorder;
    struct string_ids *signatures;
    const struct pod_groups *pod_groups;
    struct group_domains *domains;
};

/* Life */
void planner_free(struct planner *p);
struct planner *planner_new(const struct planner_parts *parts) OWNED_BY(planner_free);

const struct planner_parts *planner_parts(const struct planner *p);

/* Around a cycle. */

/* Lets the reservations before this pod and its group in the order bind the next cycle;
 * NULL: all do.
 */
void planner_bind(struct planner *p, const struct queued_pod *queued);

/* Whether the pod is one of the first, so that its cycle must learn which nodes lack room. */
bool planner_may_reserve(const struct planner *p, const struct queued_pod *queued);

/* No cycle has found room for the members: all pods of the group, or the pod itself. */
void planner_reserve(struct planner *p, struct queued_pod *queued, struct pod_view *const *members,
                     unsigned count, const struct diagnosis *d);

/* The pods have nodes. */
void planner_note_placed(struct planner *p, struct assignment *const *members, unsigned count);

/* Puts the reservation where the pod is in the order now. Returns whether that is another
 * place.
 */
bool planner_moves(struct planner *p, const struct queued_pod *queued);

/* Changes in the cluster. */

/* Room became free or was taken on the node, or on any if NULL. */
void planner_room_changed(struct planner *p, const struct node_view *node);

/* Nodes were added or changed. */
void planner_nodes_changed(struct planner *p);

/* The node is about to go. */
void planner_node_leaves(struct planner *p, const struct node_view *node);

/* A waiting pod has changed. */
void planner_wait_changed(struct planner *p, const struct pod_view *pod);

/* Acts on the changes; to be called before the next cycle. */
void planner_settle(struct planner *p);

/* Acts on what depends on time alone. */
void planner_tick(struct planner *p);

/* The last three answer the queue's questions (queue_policy.h). */

/* Returns the reservation of the pod's group or its own, or NULL. */
const struct reservation *planner_find(const struct planner *p, const struct queued_pod *queued);

/* Returns the place that is reserved for the pod, or NULL. */
const struct reserved_place *planner_find_place(const struct planner *p,
                                                const struct queued_pod *queued,
                                                const struct pod_view *pod);

bool planner_must_try(const struct planner *p, const struct queued_pod *queued);
bool planner_is_first(const struct planner *p, const struct queued_pod *queued);
bool planner_overtakes(const struct planner *p, const struct queued_pod *queued);
