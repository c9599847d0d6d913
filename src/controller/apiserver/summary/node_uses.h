/* SPDX-License-Identifier: Apache-2.0 */
/* node_uses.h - the resources of each node that its pods use
 *
 * The sums are kept from the load of the store at the start, and with each
 * change of its pending head; no request reads all pods of a node for them.
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

/* An object changed, was created (no `before`) or was removed (no
 * `after`).
 */
void node_uses_moved(struct node_uses *uses, const struct object *before,
                     const struct object *after);

/* Returns zeros for a node without pods. */
struct node_use node_uses_get(const struct node_uses *uses, const char *node_name);
