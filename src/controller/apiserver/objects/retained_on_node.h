/* SPDX-License-Identifier: Apache-2.0 */
/* retained_on_node.h - the retained allocation of a pod that is deleted by
 * force
 *
 * The API removes the pod at once, as upstream does. Its allocation is kept in
 * its node's status.remnants until the agent has seen the last of its processes
 * end, or the node is fenced or gone. It is written in the transaction that
 * removes the pod, and the check of bindings counts it: so no core is given to
 * two pods in between.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct allocation;
struct error;
struct object;
struct request;
struct store_txn;

/* Whether processes of the pod may remain when it is removed now. */
bool retained_on_node_expected(const struct request *q, const struct object *pod);

/* Records the allocation in the node. Returns false when the reply is a 500. */
bool retained_on_node_leave(struct request *q, struct store_txn *txn, const struct object *pod);

/* Returns -EEXIST with a message when the allocation overlaps a retained
 * allocation of the node.
 */
int retained_on_node_check_disjoint(const struct request *q, const char *node,
                                    const struct allocation *allocation, struct error *err);
