/* SPDX-License-Identifier: Apache-2.0 */
/* put.h - puts one object into a transaction, whatever asked for it
 *
 * It needs nothing of a request, so a request may write as many objects of as
 * many kinds as it likes into one transaction. The object gets its defaults and
 * the transaction's next revision.
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
    const struct kind *kind; /* the tree is in this kind's words */
    struct json *tree;       /* completed in place */

    /* The pending state, in the same words; NULL: there is none, or the whole
     * object is written. Parts that the tree shares with it are not looked at
     * again.
     */
    const struct json *old_tree;
    bool keeps_spec; /* the spec had its defaults before, and is the same */
    bool is_normal;  /* the tree is as the kind's table wants it already, with a
                        resourceVersion, which is replaced */
};

/* The object is borrowed from the store. NULL: the tree does not fit its kind,
 * and nothing was put.
 */
const struct object *put_object(struct arena *arena,
                                struct store_txn *txn,
                                const struct put *put,
                                struct error *err);

/* The same for a patch that only sets members (object_patched); NULL: it has to be
 * put as a tree.
 */
const struct object *put_patch(struct arena *arena,
                               struct store_txn *txn,
                               const struct object *object,
                               struct json *patch);

/* The same for another status, normalized (object_with_status). */
const struct object *put_status(struct arena *arena,
                                struct store_txn *txn,
                                const struct object *object,
                                struct json *status,
                                const struct json *old_status);

/* Takes the object out; watchers see the tree last. -EINVAL as above. */
int put_removal(struct arena *arena,
                struct store_txn *txn,
                const struct put *put,
                struct error *err);

/* The defaults alone. */
void put_set_defaults(struct arena *arena, const struct put *put);
