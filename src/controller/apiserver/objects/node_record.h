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

struct arena;
struct json;
struct object;
struct request;
struct store_txn;

/* In the transaction that removes the node: keeps what administrators said of
 * it and forgets its secret, so that another machine of that name can enrol.
 */
void node_record_leave(struct request *q,
                       struct store_txn *txn,
                       const struct object *node);

/* The rule of admission that gives a new node what was kept. Tree and
 * old_object are as in admission.h.
 */
bool node_record_admit(struct request *q,
                       struct json *tree,
                       const struct object *old_object);

/* Where the store keeps the verifier of a node's secret. */
const char *node_secret_name(struct arena *arena, const char *node);

/* False when there is none. */
bool
node_record_forget(struct request *q, struct store_txn *txn, const char *name);
bool node_record_has(const struct request *q, const char *name);
