/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - POST to a collection: decode, default, admit, validate, put */
#include "controller/apiserver/verbs/create.h"
#include "controller/apiserver/access/account_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/apply.h"
#include "controller/apiserver/verbs/held_pods.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/json/json.h"

#define NAME_RANDOM   5
#define NAME_BASE_MAX 58 /* bytes of a longer generateName that are kept */

/* Fields that only the server sets. */
static const char *const system_fields[] = {
    "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "selfLink",
};

static bool
check_meta(struct request *q, struct json *tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *namespace = json_get_text(meta, "namespace");
    const char *version = json_get_text(meta, "resourceVersion");

    if (!(q->route.kind->flags & KIND_NAMESPACED))
        json_remove(meta, "namespace");
    else if (namespace != NULL && namespace[0] != '\0'
             && !account_names_are_same(q, namespace, q->route.namespace)) {
        reply_bad_request(&q->reply, "the namespace of the provided object does not "
                                     "match the namespace sent on the request");
        return false;
    } else
        json_set_string(q->arena, meta, "namespace", q->route.namespace);
    /* A dry run never comes to the store, which is what refuses it. */
    if (version != NULL && version[0] != '\0' && !q->options.is_dry_run) {
        reply_internal(&q->reply, "resourceVersion should not be set on objects to be "
                                  "created");
        return false;
    }
    return true;
}

static bool
exists(struct request *q, const char *name)
{
    return store_find(q->server->store, STORE_PENDING, kind_stored(q->route.kind),
                      q->route.namespace, name)
               != NULL
           || store_is_damaged(q->server->store, kind_stored(q->route.kind), q->route.namespace,
                               name);
}

static const char *
random_name(struct request *q, const char *prefix)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *name;

    do {
        unsigned char bytes[NAME_RANDOM];
        char suffix[NAME_RANDOM + 1] = "";

        random_bytes(bytes, sizeof(bytes));
        for (unsigned i = 0; i < NAME_RANDOM; i++)
            suffix[i] = letters[bytes[i] % (sizeof(letters) - 1)];
        name = arena_printf(q->arena, "%.*s%s", NAME_BASE_MAX, prefix, suffix);
    } while (exists(q, name));
    return name;
}

/* A Job's id comes from the store; a generated name of a Job ends in the id. */
static void
set_name(struct request *q, struct json *tree)
{
    struct json *meta = json_get(tree, "metadata");
    const char *name = json_get_text(meta, "name");
    const char *prefix = json_get_text(meta, "generateName");
    bool has_name = name != NULL && name[0] != '\0';

    if (q->job_id != 0 && !has_name && prefix != NULL)
        name = arena_printf(q->arena, "%s%" PRId64, prefix, q->job_id);
    else if (!has_name && prefix != NULL && prefix[0] != '\0')
        name = random_name(q, prefix);
    if (name != NULL)
        json_set_string(q->arena, meta, "name", name);
}

static void
set_system_fields(struct request *q, struct json *tree)
{
    struct json *meta = json_get(tree, "metadata");
    char uid[UUID_SIZE];
    char now[TIME_TEXT_SIZE];

    for (unsigned i = 0; i < ARRAY_SIZE(system_fields); i++)
        json_remove(meta, system_fields[i]);
    random_uuid(uid);
    json_set_string(q->arena, meta, "uid", uid);
    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, meta, "creationTimestamp", now);
    if (q->route.kind->flags & KIND_GENERATION)
        json_set_int(q->arena, meta, "generation", 1);
}

static bool
validate(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;
    const char *name = json_path_text(tree, "metadata.name");
    struct causes causes;

    if (kind->validate == NULL)
        return true;
    causes_init(&causes, q->arena);
    kind->validate(&causes, tree, NULL);
    if (causes.count == 0)
        return true;
    reply_invalid(&q->reply, kind_stored(kind)->group, kind->name, name != NULL ? name : "",
                  &causes);
    return false;
}

static bool
check_absent(struct request *q, const struct json *tree)
{
    const char *name = json_path_text(tree, "metadata.name");
    const struct object *object = store_find(q->server->store, STORE_PENDING,
                                             kind_stored(q->route.kind), q->route.namespace, name);

    if (object == NULL)
        return !write_is_damaged(q, 409, q->route.kind, q->route.namespace, name);
    reply_exists(&q->reply, q->route.kind, name);
    if (object->meta->deleted_at_us != 0)
        json_set(q->arena, q->reply.tree, "message",
                 json_stringf(q->arena, "object is being deleted: %s",
                              json_get_text(q->reply.tree, "message")));
    return false;
}

/* All steps that may refuse the object. */
static bool
make(struct request *q, struct json *tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    const struct kind *kind = q->route.kind;

    if (!admission_create(q, tree))
        return false;
    set_name(q, tree);
    set_system_fields(q, tree);
    held_pods_take_uid(q, tree);
    if (kind->prepare != NULL)
        kind->prepare(q->arena, tree, NULL);
    if (hooks->complete != NULL)
        hooks->complete(q, tree);
    if (!validate(q, tree) || !check_absent(q, tree))
        return false;
    write_warn(q, tree, NULL);
    return true;
}

static bool
decode(struct request *q, struct json *tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    if (!body_normalize(q, tree) || !check_meta(q, tree))
        return false;
    if (hooks->decode != NULL && !hooks->decode(q, tree))
        return false;
    write_drop_additions(q, tree);
    if (q->route.kind->set_defaults != NULL)
        q->route.kind->set_defaults(q->arena, tree);
    apply_note(q, tree, NULL);
    return true;
}

static bool
put(struct request *q, struct store_txn *txn, struct json *tree)
{
    const struct object *object = quota_put(q, txn) ? write_put(q, txn, tree, NULL) : NULL;

    object = held_pods_bind(q, txn, object);
    if (object == NULL)
        return false;
    content_put(q, txn);
    reply_object(&q->reply, 201, object);
    return true;
}

bool
create_job_within(struct request *q, struct store_txn *txn)
{
    struct json *tree = q->body;

    return decode(q, tree) && make(q, tree) && put(q, txn, tree);
}

static void
create(struct request *q)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    struct json *tree = q->body;
    struct store_txn *txn;

    if (!decode(q, tree)) {
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    if (hooks->begin != NULL)
        hooks->begin(q, txn);
    if (!make(q, tree)) {
        request_rollback(q, txn);
    } else if (q->options.is_dry_run) {
        store_rollback(txn);
        if (!write_normalize(q, tree, NULL))
            request_finish(q);
        else if (why_is_asked(q))
            why_explain_new(q, tree);
        else {
            reply_tree(&q->reply, 201, tree);
            request_finish(q);
        }
    } else if (put(q, txn, tree)) {
        if (hooks->created != NULL)
            hooks->created(q, q->reply.object);
        request_commit(q, txn);
    } else
        request_rollback(q, txn);
}

const struct object *
create_within(struct request *q, struct store_txn *txn, struct json *tree)
{
    const struct object *object = decode(q, tree) && make(q, tree) && quota_put(q, txn)
                                      ? write_put(q, txn, tree, NULL)
                                      : NULL;

    return held_pods_bind(q, txn, object);
}

const struct object *
create_copy_within(struct request *q, struct store_txn *txn, struct json *tree)
{
    const struct object *object = NULL;

    held_pods_take_uid(q, tree);
    if (check_absent(q, tree) && quota_admit(q, tree, NULL) && quota_put(q, txn))
        object = write_put_normal(q, txn, tree);
    return held_pods_bind(q, txn, object);
}

void
verb_create(struct request *q)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    if (hooks->look_up != NULL)
        hooks->look_up(q, create);
    else
        create(q);
}
