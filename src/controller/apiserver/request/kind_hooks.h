/* SPDX-License-Identifier: Apache-2.0 */
/* kind_hooks.h - what the server does for objects of one kind only
 *
 * The rooms of the server work for every kind: they read facts from struct kind
 * (lib/api/object/kind.h), and call these hooks where facts are not enough. The
 * hooks of a kind are one file in kinds/, and api_profiles.c lists them. For
 * conformance it lists hooks without Kiln's additions, so that a hook need not ask
 * for it. Each member may be NULL: then nothing is special.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bind_member;
struct binding;
struct json;
struct kind;
struct object;
struct request;
struct store_txn;
struct user_count;

typedef void kind_step_fn(struct request *q);

/* A name that belongs to another user's object. */
struct name_claim {
    const struct object *by;
    const char *what; /* of this object the name is: "pods" */
    bool begins_so;   /* all names that begin with the object's and a number */
};

struct kind_hooks {
    const struct kind *kind;

    /* The names of objects. */

    /* A generated name ends with the id that the object gets. */
    bool is_numbered;

    /* Whether an object of the kind with this name would prevent another user's object from ever
     * making its own.
     */
    bool (*find_claim)(const struct request *q, const char *name, struct name_claim *ret_claim);

    /* An object's name for a name in a path that may be another of its names. */
    const char *(*resolve_name)(const struct request *q, const char *name);

    /* Before a creation, an update or a merge patch is processed: looks up what
     * takes time, then calls `then`, or finishes the request.
     */
    void (*look_up)(struct request *q, kind_step_fn *then);

    /* A creation, in this order: the body is normalized; the transaction has
     * begun; the object is admitted and has its uid (names may depend on what
     * `begin` did); the object is put. Returns false when the reply is made.
     */
    bool (*decode)(struct request *q, struct json *tree);
    void (*begin)(struct request *q, struct store_txn *txn);
    void (*complete)(struct request *q, struct json *tree);
    void (*created)(struct request *q, const struct object *object);

    /* A creation or an update, after the rules that several kinds have (admission.h): what
     * an object of the kind must be beyond its validation. Returns false when the reply is
     * made.
     */
    bool (*admit)(struct request *q, struct json *tree, const struct object *old_object);

    /* Removes fields that kube-apiserver does not have, before the defaults. */
    void (*drop_additions)(struct request *q, struct json *tree);

    /* An update: the old tree with what only admission may allow to change, so
     * that the validation accepts it (request.is_update_admitted); and after the
     * object was put.
     */
    const struct json *(*with_admitted)(struct request *q, const struct json *tree,
                                        const struct json *old_tree);
    void (*updated)(struct request *q, struct store_txn *txn, const struct object *object);

    /* A creation's body may have a script, which admission takes out; so it may be
     * longer than others.
     */
    bool brings_content;
    bool shares_content; /* it may name a script that its CronJob has */

    /* The pods that an object with this tree runs at once; NULL: none. */
    int64_t (*pods_at_once)(const struct json *tree);

    /* Whether a list has the object, by query parameters that only this kind has. */
    bool (*is_selected)(const struct request *q, const struct object *object);

    bool has_task_logs; /* /log names a task, whose pod may be gone */

    /* Events. The field that names what one is about; whether agents write events about
     * objects of this kind, those of their node.
     */
    const char *subject;
    bool agents_tell;

    /* A creation or a change waits until a new quota has been counted. */
    bool must_be_counted;

    /* A pod is bound: look_up_binding returns true if `then` is called when what may_bind
     * needs is known; may_bind refuses what kube-apiserver would not; write_bound changes
     * the spec beside its node, if changes_when_bound.
     */
    bool (*look_up_binding)(struct request *q, const struct object *pod,
                            void (*then)(void *request));
    bool (*may_bind)(struct bind_member *m, const struct object *pod);
    bool (*changes_when_bound)(const struct object *pod);
    void (*write_bound)(struct request *q, const struct object *pod, struct json *spec,
                        const struct binding *binding);

    /* A deletion was asked for, for the first time; then an object is removed by
     * a DELETE (it may have been terminating before); then by any request, in its
     * last version. False: the reply is a 500.
     */
    void (*deleting)(struct request *q, struct store_txn *txn, const struct object *object);
    bool (*dropping)(struct request *q, struct store_txn *txn, const struct object *object);
    bool (*removed)(struct request *q, struct store_txn *txn, const struct object *object,
                    const struct json *tree);

    /* The rights of an agent. names_node: whether the request is for
     * the node, as far as the request alone tells; wants_node_selector: a request
     * for many objects must select those of the node. is_on_node: whether the
     * object belongs to the agent's node; NULL: it has the node's name.
     */
    bool (*names_node)(const struct request *q, const char *node);
    bool wants_node_selector;
    bool (*is_on_node)(const struct request *q, const struct object *object);

    /* Measures the object for its user's limits. Returns false when it
     * belongs to no user. NULL: user_counts_measure.
     */
    bool (*measure)(const struct object *object, uid_t *ret_uid, struct user_count *ret_count);
};

/* Never NULL. kind_hooks_find ignores the profile: it is for what must hold of every
 * object, as counts and the rights of agents. The others are for a request: the hooks
 * that its server's profile has, of a kind and of the route's kind.
 */
const struct kind_hooks *kind_hooks_find(const struct kind *kind);
const struct kind_hooks *kind_hooks_served(const struct request *q, const struct kind *kind);
const struct kind_hooks *kind_hooks_of_route(const struct request *q);

/* The object's name for a name that may be another of its names; NULL stays NULL. */
const char *kind_hooks_resolve_name(const struct request *q, const struct kind *kind,
                                    const char *name);
