/* SPDX-License-Identifier: Apache-2.0 */
/* retained_on_node.h - what a pod that is deleted by force leaves on its
 * node
 *
 * The API forgets the pod at once, as upstream does; what it was given is kept
 * in its node's status.remnants until the agent has seen the last of its
 * processes go, or the node is fenced or gone. Written in the transaction that
 * removes the pod, and counted by the check of bindings: so no core is given
 * twice in between.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>

struct allocation;
struct error;
struct object;
struct request;
struct store_txn;

/* Whether something may be left of the pod when it is removed now. */
bool retained_on_node_expected(const struct request *q,
                               const struct object *pod);

/* Notes it in the node. False: the reply is a 500. */
bool retained_on_node_leave(struct request *q,
                            struct store_txn *txn,
                            const struct object *pod);

/* -EEXIST with words when the allocation overlaps what is left on the node. */
int retained_on_node_check_disjoint(const struct request *q,
                                    const char *node,
                                    const struct allocation *allocation,
                                    struct error *err);
