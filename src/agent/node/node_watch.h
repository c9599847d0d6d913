/* SPDX-License-Identifier: Apache-2.0 */
/* node_watch.h - follows this agent's Node object as others change it
 *
 * The controller sets Ready to Unknown on a node whose lease was not renewed.
 * Only the agent can report that the node is well after all, and does so as
 * soon as it sees that condition. A deleted Node is noticed in the same way.
 * The entries of pods that were deleted by force (status.remnants) are removed
 * when nothing of these pods is here any more. A pod that the controller gave
 * up while the node was fenced gets such an entry when the fence is gone,
 * because its cores are not free although the API shows the pod as finished.
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
    /* The Node in the API has changed; NULL: no callback. */
    void (*seen)(const struct object *node, void *context);
    /* Whether nothing of that pod is here, and nothing will be. */
    bool (*confirm_gone)(const char *pod_uid, void *context);
    /* Calls `visit` for each pod that still holds something here that the API
     * does not count.
     */
    void (*visit_retained)(void (*visit)(const struct object *pod, void *arg), void *arg,
                           void *context);
    /* Ends the orphaned pods whose uids are in that text, because an
     * administrator asked for it.
     */
    void (*end_orphans)(const char *uids, void *context);
    void *context;
};

/* Life. The watch begins with node_watch_new. */
void node_watch_free(struct node_watch *node_watch);
struct node_watch *node_watch_new(const struct node_watch_settings *settings)
    OWNED_BY(node_watch_free);
DEFINE_CLEANUP(struct node_watch, node_watch_free)

/* The latest known Node, or NULL; borrowed until the next change. */
const struct object *node_watch_node(const struct node_watch *node_watch);

/* The controller answers again: the watch is opened again within that time. */
void node_watch_retry_soon(struct node_watch *node_watch, int64_t within_ms);

/* A pod has left: removes entries that are no longer needed and adds new ones.
 */
void node_watch_check(struct node_watch *node_watch);
