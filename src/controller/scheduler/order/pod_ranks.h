/* SPDX-License-Identifier: Apache-2.0 */
/* pod_ranks.h - where waiting pods stand in the order of jobs (start_order.h)
 *
 * A pod that is placed by itself is a job of the order, as is a group of pods
 * that are placed together. A job joins when it first may be tried, and stays
 * until its pods are gone or have ended.
 *
 * Jobs of one user, limit and size are of one *rank*: the same key for all,
 * which is made anew only while none of them is being tried, so that it can
 * order a heap.
 *
 * The run times of a user's jobs are kept in memory alone; when the scheduler starts,
 * they are learned from the pods that ended and are still there.
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
struct pod_ranks;
struct pod_view;

/* Life */
void pod_ranks_free(struct pod_ranks *o);
struct pod_ranks *pod_ranks_new(struct clock *clock) OWNED_BY(pod_ranks_free);
DEFINE_CLEANUP(struct pod_ranks, pod_ranks_free)

/* The cluster. Node: as queue_event. Bound: it holds room on a node. Gone: it
 * holds none and waits for none; one that never did may teach, before the
 * start. Start: every pod that is there has been told.
 */
void pod_ranks_node_changed(struct pod_ranks *o,
                            const struct object *old_object,
                            const struct object *new_object);
void pod_ranks_pod_bound(struct pod_ranks *o, const struct pod_view *pod);
void pod_ranks_pod_gone(struct pod_ranks *o, const struct pod_view *pod);
void pod_ranks_pod_ended(struct pod_ranks *o, const struct pod_view *pod);
void pod_ranks_start(struct pod_ranks *o);

/* The queue. Rank: it becomes active, and is to be told when it is so no more.
 * Take stale: whether a job has ended since the last call, so that active pods
 * may have other ranks now.
 */
bool pod_ranks_take_stale(struct pod_ranks *o);
struct queue_rank pod_ranks_rank(struct pod_ranks *o,
                                 const struct queued_pod *queued);
void pod_ranks_unrank(struct pod_ranks *o, const struct queued_pod *queued);

/* How long the pod is thought to run, in seconds, and whether it goes first as
 * one that has waited too long; 0: it is not in the order.
 */
double pod_ranks_predict_s(const struct pod_ranks *o,
                           const struct queued_pod *queued,
                           bool *ret_is_guarded);
