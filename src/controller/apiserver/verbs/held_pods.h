/* SPDX-License-Identifier: Apache-2.0 */
/* held_pods.h - a new pod that a node has already (marks/lost_pods.h)
 *
 * Called by:  create.c.
 * Thread:     the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct json;
struct object;
struct request;
struct store_txn;

/* Before the pod is put: gives its tree the uid of the pod that the node has. */
void held_pods_take_uid(const struct request *q, struct json *tree);

/* After that, in the same transaction: binds it to the node. Returns the pod as
 * it is then, or NULL with a 500 as the reply. Other objects, and pods that no
 * node has, are returned as they are.
 */
const struct object *held_pods_bind(struct request *q, struct store_txn *txn,
                                    const struct object *object);
