/* SPDX-License-Identifier: Apache-2.0 */
/* taint_eviction.h - ends pods on nodes with a NoExecute taint that they do
 * not tolerate, or no longer
 *
 * A toleration with tolerationSeconds holds so long from the taint's
 * timeAdded, or where it has none from when it was first seen here. The
 * taints of node health (not-ready, unreachable, out-of-service) end nobody:
 * what a node that is silent runs goes on, see node_health.h.
 *
 * A pod is told by the condition DisruptionTarget (so that its job may
 * start it again) and deleted.
 *
 * Owns:    the pods that are to end, and when.
 * Thread:  the lifecycle loop's.
 * Source:  Kubernetes, controller/tainteviction.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct node;
struct pod;
struct object_cache;
struct taint_eviction;

struct taint_eviction_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
};

/* Life */
void taint_eviction_free(struct taint_eviction *e);
struct taint_eviction *
taint_eviction_new(const struct taint_eviction_settings *settings)
    OWNED_BY(taint_eviction_free);
DEFINE_CLEANUP(struct taint_eviction, taint_eviction_free)

/* When the pod must go, in real time; INT64_MAX: never. A pure function. */
int64_t taint_eviction_due_us(const struct node *node,
                              const struct pod *pod,
                              int64_t first_seen_us);
