/* SPDX-License-Identifier: Apache-2.0 */
/* node_tree.h - the nodes by zone, listed one from each zone in turn
 *
 * Owns:       nothing; the cache owns the views.
 * Thread:     the scheduler's.
 * Source:     kube-scheduler, backend/cache/node_tree.go.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct node_tree;
struct node_view;
struct object;

void node_tree_free(struct node_tree *t);
struct node_tree *node_tree_new(void) OWNED_BY(node_tree_free);
DEFINE_CLEANUP(struct node_tree, node_tree_free)

/* The zone is that of the given node object. Move does nothing if both
 * zones are the same.
 */
void node_tree_add(struct node_tree *t, struct node_view *view, const struct object *node);
void node_tree_remove(struct node_tree *t, struct node_view *view, const struct object *node);
void node_tree_move(struct node_tree *t, struct node_view *view, const struct object *old_node,
                    const struct object *new_node);

/* List: `ret_views` has room for node_tree_count() views. */
size_t node_tree_count(const struct node_tree *t);
void node_tree_list(const struct node_tree *t, struct node_view **ret_views);
