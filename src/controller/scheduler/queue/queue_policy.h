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
    /* Activated: called when a pod has become active or free room can be handed
     * out. Entered: called when the event has moved a pod to the queue
     * "active", "backoff", "unschedulable" or "gated". Each may be NULL.
     */
    void (*activated)(void *context);
    void (*entered)(const char *queue, const char *event, void *context);

    /* Groups (queued_group.h). Group of: returns the terms of the pod's group;
     * the name is valid until the next call. Refuse group: returns why a group with this pod cannot be
     * placed at all, as a text that is never freed, or NULL. Held: called for a
     * member whose group waits for other members or is refused. Each may be
     * NULL.
     */
    void (*group_of)(const struct object *pod, struct group_terms *ret_terms, void *context);
    const char *(*refuse_group)(const struct pod_view *pod, const struct profile *profile,
                                void *context);
    void (*held)(const struct queued_pod *pod, void *context);

    /* Pods that wait for free room on a node. Room of: returns the node on
     * which the ended pod has left room (valid until the next call); NULL: its
     * end may also help pods on other nodes. Has room: the node may have enough
     * room for the pod, or for one member of its group, now or after a
     * preemption there. Kept off: the free room there is reserved for other
     * pods. Must try: the pod is to be tried whatever room is free. Is first:
     * must_try may hold for this pod; if this is false for a pod, it is false
     * for all pods behind it. Is reserved: the pod has a reservation and is
     * activated when that begins. Overtakes: the pod has no reservation and
     * comes before one that has. Group sleeps on: no set of nodes has room for
     * the group of this leader. All may be NULL: then every end of a pod
     * activates all pods that it may help. Kept off, is reserved and overtakes
     * may also be NULL one by one.
     */
    const char *(*room_of)(const struct object *ended, void *context);
    bool (*has_room)(const struct queued_pod *pod, const char *node, void *context);
    bool (*is_kept_off)(const struct queued_pod *pod, const char *node, void *context);
    bool (*must_try)(const struct queued_pod *pod, void *context);
    bool (*is_first)(const struct queued_pod *pod, void *context);
    bool (*is_reserved)(const struct queued_pod *pod, void *context);
    bool (*overtakes)(const struct queued_pod *pod, void *context);
    bool (*group_sleeps_on)(struct queued_pod *leader, void *context);

    /* Rank: returns the place in the order of a pod that becomes active.
     * Unrank: called when a pod whose rank has a kind is no longer active. Both
     * may be NULL.
     */
    struct queue_rank (*rank)(const struct queued_pod *pod, void *context);
    void (*unrank)(const struct queued_pod *pod, void *context);
};
