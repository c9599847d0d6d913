/* SPDX-License-Identifier: Apache-2.0 */
/* group_nodes.h - asks the controller for the nodes of a pod's group
 *
 * The list is in the status of the PodGroup: with the bindings of the pods, or
 * as soon as all of them have a node.
 *
 * Owns:    the requests under way.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct client;
struct error;
struct group_nodes;

/* Life. group_nodes_free calls back pending requests with -ECANCELED. */
void group_nodes_free(struct group_nodes *g);
struct group_nodes *group_nodes_new(struct client *client) OWNED_BY(group_nodes_free);
DEFINE_CLEANUP(struct group_nodes, group_nodes_free)

/* `got` is called once, with a list that names the node, or with NULL: the group
 * has none (it is gone, or its pods may share nodes), or the error says why. The
 * request is repeated until the list is there, and while the pod is wanted.
 */
struct group_nodes_question {
    const char *namespace;
    const char *group;
    const char *node;
    bool (*is_wanted)(void *context);
    void (*got)(const char *list, const struct error *err, void *context);
    void *context;
};
void group_nodes_get(struct group_nodes *g, const struct group_nodes_question *question);
