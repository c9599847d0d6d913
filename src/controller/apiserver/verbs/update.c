/* SPDX-License-Identifier: Apache-2.0 */
/* Every change of an existing object ends here, whatever way it came, so its rules have one
 * form. A field that the request may not set keeps its value, and the request is not refused
 * for it, as upstream does: fields that only the server sets, parts that the verb does not
 * cover, and Kiln's own fields that a typed client of upstream has dropped without knowing
 * them (decision 260).
 */
#include "controller/apiserver/verbs/update.h"
#include "controller/apiserver/access/account_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/managed_fields.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/apply.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* Fields that only the server sets; an update that lacks one keeps it. */
static const char *const kept_fields[] = {
    "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "selfLink",          "generateName",
};

static bool
check_names(struct request *q, const struct json *tree)
{
    const char *name = json_path_text(tree, "metadata.name");
    const char *namespace = json_path_text(tree, "metadata.namespace");

    if (name == NULL || name[0] == '\0') {
        reply_bad_request(&q->reply,
                          "the name of the object (%s based on URL) was "
                          "undeterminable: name must be provided",
                          q->route.name);
        return false;
    }
    if (strcmp(name, q->route.name) != 0) {
        reply_bad_request(&q->reply,
                          "the name of the object (%s) does not match the "
                          "name on the URL (%s)",
                          name, q->route.name);
        return false;
    }
    if (namespace != NULL && namespace[0] != '\0' && q->route.namespace != NULL
        && !account_names_are_same(q, namespace, q->route.namespace)) {
        reply_bad_request(&q->reply, "the namespace of the provided object does not "
                                     "match the namespace sent on the request");
        return false;
    }
    return true;
}

/* Optimistic concurrency: the tree's resourceVersion must be the object's. */
static bool
check_version(struct request *q, const struct object *old_object, const struct json *tree)
{
    const struct kind *kind = q->route.kind;
    const char *version = json_path_text(tree, "metadata.resourceVersion");
    struct causes causes;
    char *end;
    long long value;

    if (version == NULL || version[0] == '\0' || strcmp(version, "0") == 0) {
        if (kind->flags & KIND_UNCONDITIONAL_UPDATE || q->route.verb == VERB_PATCH)
            return true;
        causes_init(&causes, q->arena);
        causes_add(&causes, CAUSE_INVALID, "metadata.resourceVersion", json_number(q->arena, "0x0"),
                   "must be specified for an update");
        reply_invalid(&q->reply, kind->group, kind->plural, q->route.name, &causes);
        return false;
    }
    errno = 0;
    value = strtoll(version, &end, 10);
    if (*end != '\0' || errno != 0) {
        reply_internal(&q->reply, "strconv.ParseUint: parsing \"%s\": invalid syntax", version);
        return false;
    }
    if (value == old_object->revision)
        return true;
    reply_modified(&q->reply, kind, q->route.name);
    return false;
}

/* A PUT with another uid is meant for another object. */
static bool
check_uid(struct request *q, const struct object *old_object, const struct json *tree)
{
    const char *uid = json_path_text(tree, "metadata.uid");

    if (q->route.verb == VERB_PATCH || uid == NULL || uid[0] == '\0'
        || strcmp(uid, old_object->meta->uid) == 0)
        return true;
    reply_conflict(&q->reply, q->route.kind, "", q->route.name,
                   "Precondition failed: UID in precondition: %s, UID in "
                   "object meta: %s",
                   uid, old_object->meta->uid);
    return false;
}

static void
keep_field(struct request *q, struct json *to, const struct json *from, const char *name)
{
    struct json *value = json_get(from, name);

    if (value != NULL)
        json_set(q->arena, to, name, value);
    else
        json_remove(to, name);
}

static void
keep_meta(struct request *q, struct json *tree, const struct json *old_tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const struct json *old_meta = json_get(old_tree, "metadata");
    const char *uid = json_get_text(meta, "uid");

    for (unsigned i = 0; i < ARRAY_SIZE(kept_fields); i++) {
        /* Validation refuses a patch with another uid. */
        if (i == 0 && uid != NULL && uid[0] != '\0')
            continue;
        /* Validation refuses a deletion by update, too. */
        if (q->route.subresource == SUBRESOURCE_NONE && strncmp(kept_fields[i], "deletion", 8) == 0
            && json_get(old_meta, kept_fields[i]) == NULL)
            continue;
        keep_field(q, meta, old_meta, kept_fields[i]);
    }
    keep_field(q, meta, old_meta, "name");
    keep_field(q, meta, old_meta, "namespace");
    keep_field(q, meta, old_meta, "resourceVersion");
}

/* Upstream's typed clients drop Kiln's fields, so a field that is not sent
 * keeps its value. An explicit null removes it.
 */
static void
keep_additions(struct request *q, const struct record *record, struct json *tree,
               const struct json *old_tree)
{
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];
        const struct json *was = json_get(old_tree, f->name);
        struct json *is = json_get(tree, f->name);

        if (was == NULL)
            continue;
        if (f->flags & FIELD_KILN && is == NULL)
            json_set(q->arena, tree, f->name, json_dup(q->arena, was));
        else if (f->type == FIELD_OBJECT && json_is(is, JSON_OBJECT) && json_is(was, JSON_OBJECT))
            keep_additions(q, f->of, is, was);
    }
}

/* Upstream lets a change of the status change labels and annotations. An agent
 * may not: a node's labels decide about its partitions, a pod's annotations who
 * it belongs to.
 */
static void
keep_agents_meta(struct request *q, struct json *tree, const struct json *old_tree)
{
    static const char *const fields[] = {"annotations", "finalizers", "labels", "ownerReferences"};

    if (q->principal->type != PRINCIPAL_AGENT)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
        keep_field(q, json_make_object(q->arena, tree, "metadata"), json_get(old_tree, "metadata"),
                   fields[i]);
}

/* Parts that this verb cannot change keep their values. */
static void
keep_parts(struct request *q, struct json *tree, const struct json *old_tree)
{
    const struct kind *kind = q->route.kind;

    switch (q->route.subresource) {
    case SUBRESOURCE_STATUS:
        keep_agents_meta(q, tree, old_tree);
        for (unsigned i = 0; i < kind->record->n_fields; i++) {
            const char *name = kind->record->fields[i].name;

            if (strcmp(name, "status") != 0 && strcmp(name, "metadata") != 0)
                keep_field(q, tree, old_tree, name);
        }
        return;
    case SUBRESOURCE_FINALIZE:
        keep_field(q, tree, old_tree, "status");
        return;
    default:
        if (kind->flags & KIND_HAS_STATUS)
            keep_field(q, tree, old_tree, "status");
        if (kind->flags & KIND_SPEC_FINALIZERS)
            keep_field(q, tree, old_tree, "spec");
    }
}

static void
count_generation(struct request *q, struct json *tree, const struct json *old_tree)
{
    struct json *meta = json_get(tree, "metadata");
    const char *name = q->route.kind->generation_of != NULL ? q->route.kind->generation_of : "spec";
    const struct json *is = json_get(tree, name);
    const struct json *was = json_get(old_tree, name);

    if (!(q->route.kind->flags & KIND_GENERATION) || (is == NULL && was == NULL)
        || (is != NULL && was != NULL && json_equals(is, was)))
        return;
    json_set_int(q->arena, meta, "generation", json_get_int(meta, "generation", 0) + 1);
}

static bool
validate(struct request *q, const struct json *tree, const struct json *old_tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    const struct kind *kind = q->route.kind;
    struct causes causes;

    if (q->is_update_admitted && hooks->with_admitted != NULL)
        old_tree = hooks->with_admitted(q, tree, old_tree);
    causes_init(&causes, q->arena);
    if (q->route.subresource == SUBRESOURCE_STATUS) {
        if (kind->validate_status != NULL)
            kind->validate_status(&causes, tree, old_tree);
    } else if (kind->validate != NULL)
        kind->validate(&causes, tree, old_tree);
    if (causes.count == 0)
        return true;
    reply_invalid(&q->reply, kind_stored(kind)->group, kind->name, q->route.name, &causes);
    return false;
}

/* Whether the object is being deleted and has no finalizer left. */
static bool
is_gone(const struct request *q, const struct json *tree)
{
    const struct json *meta = json_get(tree, "metadata");

    if (json_get(meta, "deletionTimestamp") == NULL || json_count(json_get(meta, "finalizers")) > 0)
        return false;
    if (q->route.kind->flags & KIND_SPEC_FINALIZERS)
        return json_count(json_get_path(tree, "spec.finalizers")) == 0;
    return json_get_int(meta, "deletionGracePeriodSeconds", 0) == 0;
}

static void
reply_with_tree(struct request *q, struct json *tree)
{
    reply_tree(&q->reply, 200, tree);
}

static bool
remove_gone(struct request *q, struct store_txn *txn, const struct object *old_object,
            struct json *tree)
{
    reply_with_tree(q, json_dup(q->arena, tree));
    return write_remove(q, txn, old_object, tree);
}

static bool
put_changed(struct request *q, struct store_txn *txn, struct json *tree,
            const struct json *old_tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    const struct object *object = quota_put(q, txn) ? write_put(q, txn, tree, old_tree) : NULL;

    if (object == NULL)
        return false;
    if (hooks->updated != NULL)
        hooks->updated(q, txn, object);
    reply_object(&q->reply, 200, object);
    return true;
}

static void
put(struct request *q, const struct object *old_object, struct json *old_tree, struct json *tree)
{
    struct store_txn *txn;

    if (json_equals(tree, old_tree)
        || (q->is_applied && managed_fields_same_but_times(q->arena, tree, old_tree))) {
        reply_object(&q->reply, 200, old_object);
        request_finish_durably(q);
        return;
    }
    if (q->options.is_dry_run) {
        reply_with_tree(q, tree);
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    if (is_gone(q, tree) ? remove_gone(q, txn, old_object, tree)
                         : put_changed(q, txn, tree, old_tree))
        request_commit(q, txn);
    else
        request_rollback(q, txn);
}

static bool
change(struct request *q, const struct object *old_object, struct json *old_tree, struct json *tree)
{
    const struct kind *kind = q->route.kind;

    if (!check_version(q, old_object, tree) || !check_uid(q, old_object, tree))
        return false;
    keep_meta(q, tree, old_tree);
    keep_parts(q, tree, old_tree);
    write_set_defaults(q, tree);
    apply_note(q, tree, old_tree);
    if (!admission_update(q, tree, old_object))
        return false;
    if (kind->prepare != NULL && q->route.subresource == SUBRESOURCE_NONE)
        kind->prepare(q->arena, tree, old_tree);
    if (kind->prepare_status != NULL && q->route.subresource == SUBRESOURCE_STATUS)
        kind->prepare_status(q->arena, tree, old_tree);
    if (!write_normalize(q, tree, old_tree))
        return false;
    count_generation(q, tree, old_tree);
    if (!validate(q, tree, old_tree) || !authorization_check_change(q, old_object, tree))
        return false;
    write_warn(q, tree, old_tree);
    return true;
}

void
update_finish(struct request *q, const struct object *old_object, struct json *old_tree,
              struct json *tree)
{
    q->old_tree = old_tree;
    if (check_names(q, tree) && change(q, old_object, old_tree, tree))
        put(q, old_object, old_tree, tree);
    else
        request_finish_durably(q);
}

/* A PUT may create an object of some kinds. Its body is checked already. */
void
update_create_instead(struct request *q)
{
    const char *name = q->route.name;

    q->route.verb = VERB_CREATE;
    q->route.name = NULL;
    q->options.validation = VALIDATION_IGNORE;
    if (!authorization_check(q)) {
        request_finish_durably(q);
        return;
    }
    json_set_string(q->arena, json_make_object(q->arena, q->body, "metadata"), "name", name);
    verb_create(q);
}

/* Call before the body is normalized, which removes nulls. */
static void
keep_unsent(struct request *q)
{
    const struct object *old_object =
        store_find(q->server->store, STORE_PENDING, kind_stored(q->route.kind), q->route.namespace,
                   q->route.name);

    if (old_object != NULL)
        keep_additions(q, q->route.kind->record, q->body, write_tree(q, old_object));
}

static void
replace(struct request *q)
{
    const struct object *old_object;

    keep_unsent(q);
    if (!body_normalize(q, q->body) || !check_names(q, q->body)) {
        request_finish(q);
        return;
    }
    old_object = write_find(q);
    if (old_object == NULL && q->route.kind->flags & KIND_CREATE_ON_UPDATE) {
        update_create_instead(q);
        return;
    }
    if (old_object == NULL || !authorization_covers(q, old_object)) {
        request_finish_durably(q);
        return;
    }
    update_finish(q, old_object, write_tree(q, old_object), q->body);
}

void
verb_replace(struct request *q)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    if (hooks->look_up != NULL)
        hooks->look_up(q, replace);
    else
        replace(q);
}
