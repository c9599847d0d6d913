/* SPDX-License-Identifier: Apache-2.0 */
/* node_record.h - what administrators set on a node, kept while its Node is
 * deleted
 *
 * The record is written in the transaction that removes the Node: whether it
 * was cordoned and approved, its labels and taints. A new Node of that name
 * gets them again. `kctl reset node` deletes the record.
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

/* For the transaction that removes the node: keeps what administrators set on
 * the node and removes its secret, so that another machine of that name can
 * enrol.
 */
void node_record_leave(struct request *q, struct store_txn *txn, const struct object *node);

/* The admission rule that restores the record to a new node. `tree` and
 * `old_object` are as in admission.h.
 */
bool node_record_admit(struct request *q, struct json *tree, const struct object *old_object);

/* The name under which the store keeps the verifier of a node's secret. */
const char *node_secret_name(struct arena *arena, const char *node);

/* Return false when there is no record. */
bool node_record_forget(struct request *q, struct store_txn *txn, const char *name);
bool node_record_has(const struct request *q, const char *name);
