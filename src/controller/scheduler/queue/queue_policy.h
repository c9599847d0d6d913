/* SPDX-License-Identifier: Apache-2.0 */
/* queue_policy.h - what the queue asks of the scheduler, and what it reports
 *
 * The queue keeps the pods and knows when which of them is tried. Which group a pod
 * belongs to, where there is room, who has a reservation and in which order pods
 * come is for the scheduler to say.
 *
 * Called by:  the queue's own files, with the context of its settings.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

struct group_terms;
struct object;
struct pod_view;
struct profile;
struct queue_rank;
struct queued_pod;

struct queue_policy {
    /* Is called when a pod has become active or free room can be handed out. May be NULL. */
    void (*activated)(void *context);

    /* Is called when the event has moved a pod to the queue "active", "backoff", "unschedulable"
     * or "gated". May be NULL.
     */
    void (*entered)(const char *queue, const char *event, void *context);

    /* Groups (queued_group.h). Each of the three may be NULL. */

    /* Returns the terms of the pod's group; the name is valid until the next call. */
    void (*group_of)(const struct object *pod, struct group_terms *ret_terms, void *context);

    /* Returns why a group with this pod cannot be placed at all, as a text that is never freed,
     * or NULL.
     */
    const char *(*refuse_group)(const struct pod_view *pod, const struct profile *profile,
                                void *context);

    /* Is called for a member whose group waits for other members or is refused. */
    void (*held)(const struct queued_pod *pod, void *context);

    /* Pods that wait for free room on a node. All may be NULL: then every end of a pod activates
     * all pods that it may help. is_kept_off, is_reserved and overtakes may also be NULL one by
     * one.
     */

    /* Returns the node on which the ended pod has left room (valid until the next call); NULL:
     * its end may also help pods on other nodes.
     */
    const char *(*room_of)(const struct object *ended, void *context);

    /* Whether the node may have enough room for the pod, or for one member of its group, now or
     * after a preemption there.
     */
    bool (*has_room)(const struct queued_pod *pod, const char *node, void *context);

    /* Whether the free room on the node is reserved for other pods. */
    bool (*is_kept_off)(const struct queued_pod *pod, const char *node, void *context);

    /* Whether the pod is to be tried whatever room is free. */
    bool (*must_try)(const struct queued_pod *pod, void *context);

    /* Whether must_try may hold for this pod. If this is false for a pod, it is false for all
     * pods behind it.
     */
    bool (*is_first)(const struct queued_pod *pod, void *context);

    /* Whether the pod has a reservation and is activated when that begins. */
    bool (*is_reserved)(const struct queued_pod *pod, void *context);

    /* Whether the pod has no reservation and comes before one that has. */
    bool (*overtakes)(const struct queued_pod *pod, void *context);

    /* Whether no set of nodes has room for the group of this leader. */
    bool (*group_sleeps_on)(struct queued_pod *leader, void *context);

    /* The place of a pod in the order. Both may be NULL. */

    /* Returns the place of a pod that becomes active. */
    struct queue_rank (*rank)(const struct queued_pod *pod, void *context);

    /* Is called when a pod whose rank has a kind is no longer active. */
    void (*unrank)(const struct queued_pod *pod, void *context);
};
