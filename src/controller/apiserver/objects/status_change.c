/* SPDX-License-Identifier: Apache-2.0 */
/* Nearly all writes after a submission are reports of a status, and the tree of a whole object
 * is what such a write would cost most. So only the status is parsed, merged and put into the
 * text (decision 287). This is safe because everything unusual goes the long way: a pod that
 * has ended, an object that is being deleted, managed fields, a patch with anything else in
 * it. Tests send the same changes both ways.
 */
#include "controller/apiserver/objects/status_change.h"

#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/put.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"
#include "lib/json/strategic.h"
#include "lib/json/text_patch.h"

/* Status patches by these principals need no admission beyond the checks below.
 */
static bool
is_trusted(const struct principal *principal)
{
    return principal->type == PRINCIPAL_AGENT || principal->type == PRINCIPAL_LIFECYCLE
           || principal->type == PRINCIPAL_SCHEDULER;
}

/* Whether the patch changes only the status, of exactly this object. */
static bool
is_status_alone(const struct request *q, const struct object *object)
{
    const struct meta *meta = object->meta;

    for (uint32_t i = 0; i < json_count(q->body); i++) {
        const struct json_member *m = &q->body->members[i];

        if (strcmp(m->name, "status") == 0)
            continue;
        if (strcmp(m->name, "metadata") != 0 || !json_is(m->value, JSON_OBJECT))
            return false;
        for (uint32_t k = 0; k < m->value->count; k++) {
            const char *name = m->value->members[k].name;
            const char *is = json_text(m->value->members[k].value);
            const char *wanted = strcmp(name, "uid") == 0               ? meta->uid
                                 : strcmp(name, "resourceVersion") == 0 ? meta->resource_version
                                                                        : NULL;

            if (is == NULL || wanted == NULL || strcmp(is, wanted) != 0)
                return false;
        }
    }
    return json_is(json_get(q->body, "status"), JSON_OBJECT);
}

/* Pods that have ended and objects being deleted are left to update.h, which
 * has more rules for them.
 */
static bool
is_plain(const struct request *q, const struct object *object)
{
    const struct kind *kind = q->route.kind;

    return q->route.subresource == SUBRESOURCE_STATUS
           && (q->format == BODY_MERGE_PATCH || q->format == BODY_STRATEGIC_PATCH)
           && kind == object->kind && kind->check_status != NULL && kind->flags & KIND_SPEC_DEFAULTS
           && is_trusted(q->principal) && !q->options.is_dry_run && q->notes.n_duplicates == 0
           && object->meta->deleted_at_us == 0
           && (kind->is_final == NULL || !kind->is_final(object)) && json_is(q->body, JSON_OBJECT)
           && is_status_alone(q, object);
}

/* With managedFields the new owners would have to be recorded. */
static bool
has_managers(const char *text)
{
    size_t length;
    const char *meta = text_find_member(text, "metadata", &length);

    return meta == NULL || text_find_member(meta, "managedFields", &length) != NULL;
}

static struct json *
read_status(struct request *q, const char *text)
{
    size_t length;
    const char *status = text_find_member(text, "status", &length);

    return status != NULL ? json_parse(q->arena, status, length, NULL, NULL) : NULL;
}

static bool
merge(struct request *q, struct json *tree, struct json *patch)
{
    if (q->format == BODY_STRATEGIC_PATCH)
        return strategic_merge(q->arena, q->route.kind->record, tree, patch, NULL) == 0;
    json_merge_prune(patch);
    (void)json_merge(q->arena, tree, patch);
    return true;
}

static bool
normalize(struct request *q, struct json *status, const struct json *old)
{
    const struct record *record = record_find(q->route.kind->record, "status")->of;
    struct record_notes notes;

    return record_normalize_change(record, q->arena, status, old, &notes, NULL) == 0
           && notes.n_unknown == 0;
}

/* Only a binding may change the allocation of a pod. */
static bool
keeps_allocation(const struct json *status, const struct json *old)
{
    const struct json *is = json_get(status, "allocation");
    const struct json *was = json_get(old, "allocation");

    return is == NULL ? was == NULL : was != NULL && json_equals(is, was);
}

/* The new status; NULL when the patch has to take the way of update.h. */
static struct json *
make_status(struct request *q, const struct object *object, struct json *old_status)
{
    const struct kind *kind = q->route.kind;
    struct json *spec = kind->part_of_spec(q->arena, object);
    struct json *tree = json_object(q->arena), *old = json_object(q->arena);
    struct json *patch = json_object(q->arena), *status;
    struct causes causes;

    if (spec == NULL)
        return NULL;
    json_set(q->arena, old, "spec", spec);
    json_set(q->arena, old, "status", old_status);
    json_set(q->arena, tree, "status", json_dup(q->arena, old_status));
    json_set(q->arena, patch, "status", json_get(q->body, "status"));
    if (!merge(q, tree, patch))
        return NULL;
    status = json_get(tree, "status");
    if (!json_is(status, JSON_OBJECT) || !normalize(q, status, old_status)
        || !keeps_allocation(status, old_status))
        return NULL;
    if (kind->prepare_status != NULL) {
        kind->prepare_status(q->arena, tree, old);
        if (!normalize(q, status, old_status))
            return NULL;
    }
    json_set(q->arena, tree, "spec", spec);
    causes_init(&causes, q->arena);
    kind->check_status(&causes, tree, old);
    return causes.count == 0 && !json_equals(status, old_status) ? status : NULL;
}

bool
status_change(struct request *q, const struct object *old_object)
{
    struct json *old_status, *status;
    const struct object *object;
    struct store_txn *txn;
    const char *text;

    if (!is_plain(q, old_object))
        return false;
    text = object_text(old_object, q->arena);
    old_status = read_status(q, text);
    if (old_status == NULL || has_managers(text))
        return false;
    status = make_status(q, old_object, old_status);
    if (status == NULL)
        return false;
    txn = store_begin(q->server->store);
    object = put_status(q->arena, txn, old_object, status, old_status);
    if (object == NULL) {
        store_rollback(txn);
        return false;
    }
    reply_object(&q->reply, 200, object);
    request_commit(q, txn);
    return true;
}
