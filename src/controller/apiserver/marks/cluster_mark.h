/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_mark.h - nodes/NAME/mark: the identity of this cluster, and the
 * latest state that its store has issued
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct request;
struct store;
struct store_txn;

/* At the start, before anybody can send a mark. */
void cluster_mark_make_key(struct store *store);

/* `find` and `bind` are called with the pods that the node says it has, if it says
 * so: whether the store lacks a binding of one, and to write these bindings.
 * Bind returns false when the reply is a 500.
 */
struct cluster_mark_pods {
    bool (*find)(struct request *q, const struct json *pods);
    bool (*bind)(struct request *q, struct store_txn *txn, const struct json *pods);
};
void cluster_mark_serve(struct request *q, const struct cluster_mark_pods *held);
