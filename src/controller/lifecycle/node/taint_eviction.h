/* SPDX-License-Identifier: Apache-2.0 */
/* taint_eviction.h - ends pods on nodes with a NoExecute taint that they do not
 * tolerate, or whose toleration has expired
 *
 * A toleration with tolerationSeconds holds that long from the taint's
 * timeAdded, or, if the taint has none, from when this loop first saw it for
 * the pod. The taints of node health (not-ready, unreachable, out-of-service)
 * evict no pod: the pods of a silent node go on, see node_health.h.
 *
 * An evicted pod gets the condition DisruptionTarget (so that its Job may start
 * it again) and is then deleted.
 *
 * Owns:    the pods to be evicted, and their times.
 * Thread:  the lifecycle loop's.
 * Source:  Kubernetes, controller/tainteviction.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct object_cache;
struct taint_eviction;

struct taint_eviction_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
};

/* Life. */
void taint_eviction_free(struct taint_eviction *e);
struct taint_eviction *taint_eviction_new(const struct taint_eviction_settings *settings)
    OWNED_BY(taint_eviction_free);
DEFINE_CLEANUP(struct taint_eviction, taint_eviction_free)
