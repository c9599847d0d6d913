/* SPDX-License-Identifier: Apache-2.0 */
/* put.h - puts one object into a transaction, for any kind of change
 *
 * It needs no request, so one request may put many objects of many kinds into
 * one transaction. The object gets its defaults and the transaction's next
 * revision.
 *
 * A tree that its kind's table refuses is never put: the caller rolls the
 * transaction back, so that nothing is stored that a later reader refuses.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct kind;
struct object;
struct store_txn;

struct put {
    const struct kind *kind; /* the kind whose fields the tree has */
    struct json *tree;       /* completed in place */

    /* The pending state, with the fields of `kind`. NULL: there is none, or the
     * whole object is written. Parts that the tree shares with it are not
     * checked again.
     */
    const struct json *old_tree;
    bool keeps_spec; /* the spec had its defaults before, and has not changed */
    bool is_normal;  /* the tree is normalized already and has a
                      * resourceVersion, which is replaced
                      */
};

/* Puts the object, which is borrowed from the store. Returns NULL when the tree
 * does not fit its kind; nothing was put then.
 */
const struct object *put_object(struct arena *arena, struct store_txn *txn, const struct put *put,
                                struct error *err);

/* The same for a patch that only sets members (object_patched). Returns NULL
 * when it has to be put as a tree.
 */
const struct object *put_patch(struct arena *arena, struct store_txn *txn,
                               const struct object *object, struct json *patch);

/* The same for a new, normalized status (object_with_status). */
const struct object *put_status(struct arena *arena, struct store_txn *txn,
                                const struct object *object, struct json *status,
                                const struct json *old_status);

/* Removes the object; `put->tree` is its last version, for watchers. Returns
 * -EINVAL when the tree does not fit its kind.
 */
int put_removal(struct arena *arena, struct store_txn *txn, const struct put *put,
                struct error *err);

/* Only sets the defaults. */
void put_set_defaults(struct arena *arena, const struct put *put);
