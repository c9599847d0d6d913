/* SPDX-License-Identifier: Apache-2.0 */
/* node_watch.h - follows this node's Node as others change it
 *
 * Follows the node's own Node. The controller marks a node that it did not hear
 * of; only the agent can say that the node is well after all, and says so as
 * soon as it sees the mark. A Node that is gone is noticed in the same way. The
 * entries of pods that were deleted by force (status.remnants) are given back
 * when nothing of these pods is here any more. A pod that was given up while
 * the node was fenced gets such an entry when the fence is gone, because its
 * cores are not free, whatever was said.
 *
 * Owns:    the watch.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct loop;
struct node_watch;
struct object;

struct node_watch_settings {
    struct loop *loop;
    struct client *client;
    const char *node;
    /* The API's Node is out of date, or is missing. */
    void (*outdated)(void *context);
    /* As it is in the API by now; NULL: nobody is told. */
    void (*seen)(const struct object *node, void *context);
    /* Whether nothing of that pod is here, nor will be. */
    bool (*confirm_gone)(const char *pod_uid, void *context);
    /* Calls for each pod of which something is here that the API does not
     * count.
     */
    void (*visit_retained)(void (*visit)(const struct object *pod, void *arg),
                           void *arg,
                           void *context);
    /* Orphans whose uids are in that text are to end: an administrator says so.
     */
    void (*end_orphans)(const char *uids, void *context);
    void *context;
};

/* Life. Follows from the start on. */
void node_watch_free(struct node_watch *node_watch);
struct node_watch *node_watch_new(const struct node_watch_settings *settings)
    OWNED_BY(node_watch_free);
DEFINE_CLEANUP(struct node_watch, node_watch_free)

/* The Node as it was heard of last, or NULL; borrowed until the next change. */
const struct object *node_watch_node(const struct node_watch *node_watch);

/* The controller answers again: what it says of this node is asked for within
 * so long.
 */
void node_watch_retry_soon(struct node_watch *node_watch, int64_t within_ms);

/* A pod has left: look what can be given back, and what is to be kept. */
void node_watch_check(struct node_watch *node_watch);
