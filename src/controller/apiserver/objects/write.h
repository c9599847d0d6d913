/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - the last steps of every write: revision, text, transaction, reply
 *
 * A write runs in one turn of the loop from its look at the pending head to
 * store_commit, so nothing comes in between.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct error;
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

/* The pending state of what the route names, or NULL and that. Tree: in the
 * words of the route's kind, free to edit.
 */
const struct object *write_find(struct request *q);
struct json *write_tree(struct request *q, const struct object *object);

/* Fills in what the kind's tables want, beside an old tree (or NULL) that what
 * did not change may be shared with. Parts that the route cannot change were
 * given their defaults when they came.
 */
void write_set_defaults(struct request *q, struct json *tree);
int write_normalize(struct request *q,
                    struct json *tree,
                    const struct json *old_tree,
                    struct error *err);

/* Tells the principal what is accepted and hardly meant. */
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
