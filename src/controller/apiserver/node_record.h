/* SPDX-License-Identifier: Apache-2.0 */
/* node_record.h - what administrators said of a node, kept while its Node is
 * deleted
 *
 * Written in the transaction that removes the Node: that it was cordoned and
 * approved, its labels and taints. A node of that name that comes back has
 * them again. `kctl reset node` forgets it.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct request;
struct store_txn;

void node_record_keep(struct request *q,
                      struct store_txn *txn,
                      const struct object *node);

/* False when there is none. */
bool
node_record_forget(struct request *q, struct store_txn *txn, const char *name);
bool node_record_has(const struct request *q, const char *name);
