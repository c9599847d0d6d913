/* SPDX-License-Identifier: Apache-2.0 */
/* node_health.h - the loop that detects silent nodes, and frees the resources
 * of their pods only when that is safe
 *
 * A node whose Lease is not renewed for `grace_ms` gets Ready=Unknown and the
 * taints node.kubernetes.io/unreachable. Its running pods become Unknown and
 * keep their allocations. They are ended (Failed, NodeLost) only when fenced:
 * either an administrator put the taint node.kubernetes.io/out-of-service on
 * the node (kctl fence), or the pods asked their node to end them when it is
 * cut off (execution.fenceAfterSeconds). A node with pods that is silent for
 * `fence_after_ms` is switched off by the site's program (node_fencing.h), and
 * fenced when the program has succeeded. A node that came back with another
 * boot id reports the end of its pods itself.
 *
 * Silence is measured on this controller's monotonic clock, from the time at
 * which it became ready; times of two machines are never compared. While the
 * controller is cut off from its database it refuses heartbeats, so silence is
 * measured anew when it no longer is. When more
 * than half of at least four nodes are silent at the same time, the loop
 * assumes that the controller is cut off: it marks the nodes and logs a
 * warning, but does not take any pod to have ended by fenceAfterSeconds, and
 * switches no node off.
 *
 * Owns:    the time of each node's last heartbeat.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
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
    int64_t grace_ms;          /* 0: 40,000 */
    int64_t check_ms;          /* 0: an eighth of the grace period, at most 5,000 */
    const char *fence_program; /* NULL: silent nodes are not switched off */
    int64_t fence_after_ms;    /* of silence */
    int64_t fence_limit_ms;
    bool (*is_cut_off)(void *context); /* or NULL */
    void *cut_off_context;
};

void node_health_free(struct node_health *health);
struct node_health *node_health_new(const struct node_health_settings *settings)
    OWNED_BY(node_health_free);
DEFINE_CLEANUP(struct node_health, node_health_free)
