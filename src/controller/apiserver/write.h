/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - the last steps of every write: revision, text, transaction, reply
 *
 * A write runs in one turn of the loop from its look at the pending head to
 * store_commit, so nothing comes in between.
 */
#pragma once

#include "lib/base/macro.h"

struct json;
struct object;
struct request;
struct store_txn;

/* The pending state of what the route names, or NULL and a 404. Tree: in the
 * words of the route's kind, free to edit.
 */
const struct object *write_find(struct request *q);
struct json *write_tree(struct request *q, const struct object *object);

/* Tells the caller what is accepted and hardly meant. */
void write_warn(struct request *q,
                const struct json *tree,
                const struct json *old_tree);

/* Gives the tree the next revision and puts it; the object is borrowed from
 * the store. `old_tree`: the pending state, to find what changed; NULL at
 * creation.
 */
const struct object *write_put(struct request *q,
                               struct store_txn *txn,
                               struct json *tree,
                               const struct json *old_tree);

/* Takes it out; what watchers see last is `tree`. Its blobs go too. */
void write_remove(struct request *q,
                  struct store_txn *txn,
                  const struct object *old_object,
                  struct json *tree);

/* The reply is made; it goes out when this is on disk. */
void write_commit(struct request *q, struct store_txn *txn TAKES);
