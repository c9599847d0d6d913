/* SPDX-License-Identifier: Apache-2.0 */
/* node_enrolment.h - what goes with a node: the verifier of its secret */
#pragma once

struct object;
struct request;
struct store_txn;

/* With the node itself: another of that name enrols anew, and has what
 * administrators said of it.
 */
void node_enrolment_forget(struct request *q,
                           struct store_txn *txn,
                           const struct object *node);
