/* SPDX-License-Identifier: Apache-2.0 */
/* pod_group_status.h - keeps the condition PodGroupInitiallyScheduled of
 * PodGroups
 *
 * True once as many pods as the group wants have had a node at one time; it
 * never goes back. False: why not, which is the message of the first pod that
 * waits.
 *
 * Owns:    the names of the pods of each group, the queue of groups to look at,
 *          and the pending writes.
 * Thread:  the lifecycle loop's.
 * Source:  k8s.io/api scheduling/v1beta1.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct object_cache;
struct pod_group_status;

void pod_group_status_free(struct pod_group_status *s);
struct pod_group_status *pod_group_status_new(struct loop *loop, struct client *client,
                                              struct object_cache *cache, struct clock *clock)
    OWNED_BY(pod_group_status_free);
DEFINE_CLEANUP(struct pod_group_status, pod_group_status_free)
