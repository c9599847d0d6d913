/* SPDX-License-Identifier: Apache-2.0 */
/* wake_strategy.h - whether an event may help a rejected pod, by the queueing
 * hints of the plugins that rejected it
 *
 * Called by:  the queue's files.
 * Thread:     the scheduler's.
 * Source:     kube-scheduler, scheduling_queue.go (isPodWorthRequeuing).
 */
#pragma once

struct cluster_event;
struct object;
struct pod_view;
struct queued_pod;

/* The strongest answer of the hints of all plugins that rejected a pod. */
enum wake_strategy {
    WAKE_SKIP,
    WAKE_AFTER_BACKOFF,
    WAKE_NOW,
};

enum wake_strategy wake_strategy(const struct queued_pod *p, const struct cluster_event *event,
                                 const struct object *old_object, const struct object *new_object);

/* The pod that hints are called with: for the leader of a pod group, the member
 * that was rejected.
 */
const struct pod_view *wake_strategy_pod(const struct queued_pod *p);
