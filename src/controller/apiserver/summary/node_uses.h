/* SPDX-License-Identifier: Apache-2.0 */
/* node_uses.h - what the pods of each node hold of it
 *
 * It follows the store's pending head, one change at a time, and its load at
 * the start; no question walks the pods of a node.
 *
 * Called by:  controller.c (as the store's `moved`), summary_nodes.c.
 * Thread:     the loop's.
 */
#pragma once

#include "lib/api/node_use.h"
#include "lib/base/macro.h"

struct node_uses;
struct object;

/* Life */
void node_uses_free(struct node_uses *uses);
struct node_uses *node_uses_new(void) OWNED_BY(node_uses_free);
DEFINE_CLEANUP(struct node_uses, node_uses_free)

/* Change: one object became another, came (no `before`) or went. */
void node_uses_moved(struct node_uses *uses,
                     const struct object *before,
                     const struct object *after);

/* Look. Zeros of a node without pods. */
struct node_use node_uses_get(const struct node_uses *uses,
                              const char *node_name);
