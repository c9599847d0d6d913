/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_mark.h - nodes/NAME/mark: the identity of this cluster, and the
 * latest state that its store has issued
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct request;
struct store;
struct store_txn;

/* At the start, before anybody can send a mark. */
void cluster_mark_make_key(struct store *store);

/* `take_held` is called when the mark is of this cluster, after the store's numbers
 * were raised above it: to write the bindings that the store has lost of the pods
 * that the node says it has. It begins a transaction if there is none. It returns
 * false when the reply is a 500.
 */
typedef bool cluster_mark_take_fn(struct request *q, struct store_txn **txn);
void cluster_mark_serve(struct request *q, cluster_mark_take_fn *take_held);
