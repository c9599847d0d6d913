/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - the last steps of every write: revision, text, transaction, reply
 *
 * A write runs in one turn of the loop, from reading the pending head to
 * store_commit, so no other write comes in between. One request may write many
 * objects; put.h writes without a request.
 *
 * When a tree does not fit its kind, the reply is a 500 and the caller finishes
 * the request with request_rollback: nothing of the transaction is stored.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct json;
struct kind;
struct object;
struct request;
struct store_txn;

/* Returns true, with the reply made, when the store has such an object but
 * cannot read it.
 */
bool write_is_damaged(struct request *q, int code, const struct kind *kind, const char *namespace,
                      const char *name);

/* Makes a 404 for the object that the route names, or a 500 when it is damaged.
 */
void write_not_found(struct request *q);

/* write_find returns the pending state of the object that the route names; or
 * NULL, with the reply of write_not_found. write_find_named does it for another
 * object of the route's kind and namespace. write_tree returns a tree with the
 * fields of the route's kind, free to edit.
 */
const struct object *write_find(struct request *q);
const struct object *write_find_named(struct request *q, const char *name);
struct json *write_tree(struct request *q, const struct object *object);

/* For conformance: removes what would change upstream's defaults. */
void write_drop_additions(struct request *q, struct json *tree);

/* Complete the tree as the kind's tables want it; what did not change may be
 * shared with the old tree (or NULL). Parts that the route cannot change have
 * their defaults already. write_normalize returns false when the reply is a
 * 500.
 */
void write_set_defaults(struct request *q, struct json *tree);
bool write_normalize(struct request *q, struct json *tree, const struct json *old_tree);

/* Warns the principal about values that are accepted but hardly intended. */
void write_warn(struct request *q, const struct json *tree, const struct json *old_tree);

/* Gives a tree of the route's kind the next revision and puts it; the returned
 * object is borrowed from the store. `old_tree` is the pending state, to find
 * the difference; NULL at creation. NULL or false: the reply is a 500.
 * write_put_other is for an object that the route does not name.
 */
const struct object *write_put(struct request *q, struct store_txn *txn, struct json *tree,
                               const struct json *old_tree);

/* The same for a new object that is normalized and has its defaults. */
const struct object *write_put_normal(struct request *q, struct store_txn *txn, struct json *tree);

bool write_put_other(struct request *q, struct store_txn *txn, const struct kind *kind,
                     struct json *tree, const struct json *old_tree);

/* Removes the object; `tree` is its last version, for watchers. Its blobs are
 * released, too. Returns false when the reply is a 500.
 */
bool write_remove(struct request *q, struct store_txn *txn, const struct object *old_object,
                  struct json *tree);

/* The same for any pod, unchanged, whatever the request is about. The caller
 * records the result of its array element.
 */
void write_remove_pod(struct request *q, struct store_txn *txn, const struct object *pod);
