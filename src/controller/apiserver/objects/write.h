/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - the last steps of every write: revision, text, transaction, reply
 *
 * A write runs in one turn of the loop from its look at the pending head to
 * store_commit, so nothing comes in between. One request may write many
 * objects; put.h does it without a request.
 *
 * Where a tree does not fit its kind, the reply is a 500 and the caller ends
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

/* True, and it is replied: the store has such an object and cannot read it. */
bool write_is_damaged(struct request *q,
                      int code,
                      const struct kind *kind,
                      const char *namespace,
                      const char *name);

/* A 404 for what the route names, or a 500 when it is damaged. */
void write_not_found(struct request *q);

/* The pending state of what the route names, or NULL and that. Named: of
 * another object of its kind and namespace. Tree: in the words of the route's
 * kind, free to edit.
 */
const struct object *write_find(struct request *q);
const struct object *write_find_named(struct request *q, const char *name);
struct json *write_tree(struct request *q, const struct object *object);

/* For conformance: takes off what would change what upstream's defaults are. */
void write_drop_additions(struct request *q, struct json *tree);

/* Fills in what the kind's tables want, beside an old tree (or NULL) that what
 * did not change may be shared with. Parts that the route cannot change were
 * given their defaults when they came. Normalize: false, and the reply is a
 * 500.
 */
void write_set_defaults(struct request *q, struct json *tree);
bool write_normalize(struct request *q,
                     struct json *tree,
                     const struct json *old_tree);

/* Tells the principal what is accepted and hardly meant. */
void write_warn(struct request *q,
                const struct json *tree,
                const struct json *old_tree);

/* Gives the tree of the route's kind the next revision and puts it; the object
 * is borrowed from the store. `old_tree`: the pending state, to find what
 * changed; NULL at creation. NULL, or false: the reply is a 500. Other: an
 * object that the route does not name.
 */
const struct object *write_put(struct request *q,
                               struct store_txn *txn,
                               struct json *tree,
                               const struct json *old_tree);

/* The same of a new object that is as the kind's table wants it, with its
 * defaults.
 */
const struct object *
write_put_normal(struct request *q, struct store_txn *txn, struct json *tree);

bool write_put_other(struct request *q,
                     struct store_txn *txn,
                     const struct kind *kind,
                     struct json *tree,
                     const struct json *old_tree);

/* Takes it out; what watchers see last is `tree`. Its blobs go too. False: as
 * above.
 */
bool write_remove(struct request *q,
                  struct store_txn *txn,
                  const struct object *old_object,
                  struct json *tree);

/* The same of a pod as it is, whatever the request is about; what its element came
 * to is the caller's to note.
 */
void write_remove_pod(struct request *q,
                      struct store_txn *txn,
                      const struct object *pod);
