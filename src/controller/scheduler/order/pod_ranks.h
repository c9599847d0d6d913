/* SPDX-License-Identifier: Apache-2.0 */
/* pod_ranks.h - where waiting pods stand in the order of jobs (start_order.h)
 *
 * A pod that is placed by itself is one job of the order, and so is a group of
 * pods that are placed together. A job is added when it may be tried for the
 * first time, and stays until its pods are deleted or have ended.
 *
 * Jobs of the same user, limit and size have one *rank*: they share a key,
 * which is computed again only while none of them is active, so that it can
 * order a heap.
 *
 * The run times of a user's jobs are kept in memory only. When the scheduler
 * starts, it learns them from the ended pods that the API still has.
 *
 * Owns:       the jobs of the order, by their pods.
 * Called by:  the queue (rank), event_handlers.c (the rest).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/macro.h"

struct clock;
struct object;
struct order_memory;
struct pod_ranks;
struct pod_view;

/* Life */
void pod_ranks_free(struct pod_ranks *r);
struct pod_ranks *pod_ranks_new(struct clock *clock) OWNED_BY(pod_ranks_free);

/* For a simulation (start_order_new_after): borrows the memory. */
struct pod_ranks *pod_ranks_new_after(struct clock *clock, const struct order_memory *memory)
    OWNED_BY(pod_ranks_free);
DEFINE_CLEANUP(struct pod_ranks, pod_ranks_free)

/* Changes in the cluster. */

/* A node was added, changed or removed, with objects as in queue_event. */
void pod_ranks_node_changed(struct pod_ranks *r, const struct object *old_object,
                            const struct object *new_object);

/* The pod holds room on a node. */
void pod_ranks_pod_bound(struct pod_ranks *r, const struct pod_view *pod);

/* The pod holds no room and does not wait. */
void pod_ranks_pod_gone(struct pod_ranks *r, const struct pod_view *pod);

/* The pod's run may be learned, if this is before the start. */
void pod_ranks_pod_ended(struct pod_ranks *r, const struct pod_view *pod);

/* Every pod that the API has was reported. */
void pod_ranks_start(struct pod_ranks *r);

/* Questions of the queue. */

/* Whether a job has ended since the last call, so that active pods may have other ranks now. */
bool pod_ranks_take_stale(struct pod_ranks *r);

/* Ranks a pod that becomes active. */
struct queue_rank pod_ranks_rank(struct pod_ranks *r, const struct queued_pod *queued);

/* The ranked pod is no longer active. */
void pod_ranks_unrank(struct pod_ranks *r, const struct queued_pod *queued);

/* How long the pod is predicted to run, in seconds, and whether it goes first
 * because it has waited too long; 0: the pod is not in the order.
 */
double pod_ranks_predict_s(const struct pod_ranks *r, const struct queued_pod *queued,
                           bool *ret_is_guarded);

/* The memory of the order (start_order.h). Remember pod: adds what it predicts
 * of a pod that waits or runs, and returns how long that runs, with its group if
 * it came with one.
 */
struct order_memory *pod_ranks_remember(const struct pod_ranks *r);
double pod_ranks_remember_pod(const struct pod_ranks *r, struct order_memory *memory,
                              const struct pod_view *pod);
