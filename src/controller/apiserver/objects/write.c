/* SPDX-License-Identifier: Apache-2.0 */
/* Between reading the pending head and handing the transaction to the store nothing else runs:
 * no callback, no slice, no thread. That is the whole concurrency control of the server, and
 * it is why a write must never wait in the middle; whatever needs an answer from elsewhere
 * (history, a directory, the scheduler) is asked for before.
 */
#include "controller/apiserver/objects/write.h"

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/put.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

bool
write_is_damaged(struct request *q, int code, const struct kind *kind, const char *namespace,
                 const char *name)
{
    if (!store_is_damaged(q->server->store, kind_stored(kind), namespace, name))
        return false;
    reply_damaged(&q->reply, code, kind, name);
    return true;
}

static void
reply_not_found_named(struct request *q, const char *name)
{
    if (!write_is_damaged(q, 500, q->route.kind, q->route.namespace, name))
        reply_not_found(&q->reply, q->route.kind, name);
}

void
write_not_found(struct request *q)
{
    reply_not_found_named(q, q->route.name);
}

const struct object *
write_find_named(struct request *q, const char *name)
{
    const struct object *object = store_find(q->server->store, STORE_PENDING,
                                             kind_stored(q->route.kind), q->route.namespace, name);

    if (object == NULL)
        reply_not_found_named(q, name);
    return object;
}

const struct object *
write_find(struct request *q)
{
    return write_find_named(q, q->route.name);
}

struct json *
write_tree(struct request *q, const struct object *object)
{
    return object_tree_as(object, q->route.kind, q->arena);
}

void
write_warn(struct request *q, const struct json *tree, const struct json *old_tree)
{
    struct causes causes;

    if (q->route.kind->warn == NULL || q->principal->type == PRINCIPAL_LIFECYCLE
        || q->route.subresource != SUBRESOURCE_NONE)
        return;
    causes_init(&causes, q->arena);
    q->route.kind->warn(&causes, tree, old_tree);
    for (unsigned i = 0; i < causes.count; i++)
        reply_warn(&q->reply, "%s", causes.items[i].message);
}

/* Parts that the route cannot change have their defaults already. A status was
 * normalized for its validation and has not changed since.
 */
static struct put
put_of(const struct request *q, struct json *tree, const struct json *old_tree)
{
    return (struct put){
        .kind = q->route.kind,
        .tree = tree,
        .old_tree = old_tree,
        .keeps_spec = q->route.subresource == SUBRESOURCE_STATUS
                      || q->route.subresource == SUBRESOURCE_BINDING,
        .is_normal = q->route.subresource == SUBRESOURCE_STATUS,
    };
}

void
write_drop_additions(struct request *q, struct json *tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    if (hooks->drop_additions != NULL)
        hooks->drop_additions(q, tree);
}

void
write_set_defaults(struct request *q, struct json *tree)
{
    struct put put = put_of(q, tree, NULL);

    write_drop_additions(q, tree);
    put_set_defaults(q->arena, &put);
}

/* The client is not the cause: the message is for Kiln's developers. */
static void
refuse(struct request *q, const struct kind *kind, const struct error *err)
{
    log_error("A %s that does not match its table was not stored: %s", kind->name, err->text);
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 500,
                              .reason = "InternalError",
                              .message = arena_printf(q->arena, "Internal error occurred: %s: %s",
                                                      kind->plural, err->text),
                              .cause_message = arena_strdup(q->arena, err->text),
                          });
}

bool
write_normalize(struct request *q, struct json *tree, const struct json *old_tree)
{
    struct error err = {0};

    if (record_normalize_change(q->route.kind->record, q->arena, tree, old_tree, NULL, &err) == 0)
        return true;
    refuse(q, q->route.kind, &err);
    return false;
}

static const struct object *
put(struct request *q, struct store_txn *txn, const struct put *put)
{
    struct error err = {0};
    const struct object *object = put_object(q->arena, txn, put, &err);

    if (object == NULL)
        refuse(q, put->kind, &err);
    return object;
}

const struct object *
write_put(struct request *q, struct store_txn *txn, struct json *tree, const struct json *old_tree)
{
    struct put what = put_of(q, tree, old_tree);

    return put(q, txn, &what);
}

const struct object *
write_put_normal(struct request *q, struct store_txn *txn, struct json *tree)
{
    return put(q, txn,
               &(struct put){
                   .kind = q->route.kind,
                   .tree = tree,
                   .keeps_spec = true,
                   .is_normal = true,
               });
}

bool
write_put_other(struct request *q, struct store_txn *txn, const struct kind *kind,
                struct json *tree, const struct json *old_tree)
{
    return put(q, txn, &(struct put){.kind = kind, .tree = tree, .old_tree = old_tree}) != NULL;
}

bool
write_remove(struct request *q, struct store_txn *txn, const struct object *old_object,
             struct json *tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    struct put what = put_of(q, tree, NULL);
    struct error err = {0};

    if (hooks->removed != NULL && !hooks->removed(q, txn, old_object, tree))
        return false;
    history_note_removal(q->server->history, txn, old_object);
    if (put_removal(q->arena, txn, &what, &err) == 0)
        return true;
    refuse(q, q->route.kind, &err);
    return false;
}

void
write_remove_pod(struct request *q, struct store_txn *txn, const struct object *pod)
{
    history_note_removal(q->server->history, txn, pod);
    store_txn_remove(txn, object_renumbered(pod, store_txn_revision(txn)));
}
