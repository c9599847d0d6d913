/* SPDX-License-Identifier: Apache-2.0 */
/* partition_terms.h - what partitions give their pods: a tier, which is part of the
 * priority that pods have here, and whether a node is for one user, or one pod, alone
 *
 * Owns:       the demands that equal pods share, and the pods that are to get new terms.
 * Called by:  event_handlers.c, scheduler.c and `why`.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/macro.h"

struct cache;
struct handle;
struct object;
struct partition_terms;
struct profile;
struct queue;

struct partition_terms_parts {
    struct handle *handle; /* finds the partitions */
    struct queue *queue;
    struct cache *cache;
    /* Returns the profile that schedules the pod, or NULL. */
    struct profile *(*profile_of)(const struct object *pod, void *context);

    /* Is called for a pod whose terms have changed. */
    void (*pod_changed)(const struct object *pod, void *context);

    /* Is called when pods are left whose terms have to be updated. */
    void (*ready)(void *context);

    void *context;
};

void partition_terms_free(struct partition_terms *t);
struct partition_terms *partition_terms_new(const struct partition_terms_parts *parts)
    OWNED_BY(partition_terms_free);

/* Ends all work on pods; to be called before the cache is gone. */
void partition_terms_forget(struct partition_terms *t);

/* A view of the pod with the tier that its partitions give it, if its profile has the
 * Partition plugin, and with the rule which users' pods may be beside it.
 */
struct pod_view *partition_terms_view(struct partition_terms *t, const struct object *pod)
    OWNED_BY(pod_view_unref);

void partition_terms_node_changed(struct partition_terms *t, const struct object *old_object,
                                  const struct object *new_object);
void partition_terms_partition_changed(struct partition_terms *t, const struct object *old_object,
                                       const struct object *new_object);

/* If terms have changed, pods get those that hold now, and waiting pods are tried with them. */
void partition_terms_tick(struct partition_terms *t);

/* Gives some of these pods their new terms. False: all had them before. No pod is tried
 * meanwhile, because it could preempt a pod whose tier is about to rise with its own.
 */
bool partition_terms_update_some(struct partition_terms *t);

bool partition_terms_are_told(const struct partition_terms *t);
