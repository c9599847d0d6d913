/* SPDX-License-Identifier: Apache-2.0 */
/* node_health.h - the loop that notices silent nodes, and frees what they held
 * only when that is safe
 *
 * A node whose Lease is not renewed for `grace_ms` gets Ready=Unknown and the
 * taints node.kubernetes.io/unreachable; its running pods become Unknown and
 * keep what they were given. They are ended (Failed, NodeLost) only when
 * fenced: an administrator put the taint node.kubernetes.io/out-of-service on
 * the node (kctl fence), or they asked to be ended by their node when it is cut
 * off (execution.fenceAfterSeconds). A node that came back under another boot
 * id reports the end of its pods itself.
 *
 * Clocks begin when this controller is ready, on its monotonic clock, and never
 * compare times of two machines. When more than half of at least four nodes
 * fall silent at once, the fault is taken to be ours: they are marked, and the
 * log says so, but no more is done.
 *
 * Owns:    when each node was last heard of.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct node_health;
struct object_cache;

struct node_health_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    int64_t grace_ms; /* 0: 40,000 */
    int64_t check_ms; /* 0: an eighth of the grace, 5,000 at the most */
};

void node_health_free(struct node_health *health);
struct node_health *node_health_new(const struct node_health_settings *settings)
    OWNED_BY(node_health_free);
DEFINE_CLEANUP(struct node_health, node_health_free)
