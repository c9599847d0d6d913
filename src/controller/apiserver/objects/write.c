/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/write.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/node_record.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"

bool
write_is_damaged(struct request *q,
                 int code,
                 const struct kind *kind,
                 const char *namespace,
                 const char *name)
{
    if (!store_is_damaged(q->server->store, kind_stored(kind), namespace, name))
        return false;
    reply_damaged(&q->reply, code, kind, name);
    return true;
}

void
write_not_found(struct request *q)
{
    if (!write_is_damaged(q,
                          500,
                          q->route.kind,
                          q->route.namespace,
                          q->route.name))
        reply_not_found(&q->reply, q->route.kind, q->route.name);
}

const struct object *
write_find(struct request *q)
{
    const struct object *object = store_find(q->server->store,
                                             STORE_PENDING,
                                             kind_stored(q->route.kind),
                                             q->route.namespace,
                                             q->route.name);

    if (object == NULL)
        write_not_found(q);
    return object;
}

/* As it is kept. */
static struct json *
stored_tree(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;

    if (kind->stored_as == NULL)
        return tree;
    tree = kind->to_stored(q->arena, tree);
    record_normalize(kind->stored_as->record, q->arena, tree, NULL, NULL);
    return tree;
}

struct json *
write_tree(struct request *q, const struct object *object)
{
    return object_tree_as(object, q->route.kind, q->arena);
}

void
write_warn(struct request *q,
           const struct json *tree,
           const struct json *old_tree)
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

void
write_set_defaults(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;
    bool keeps_spec = q->route.subresource == SUBRESOURCE_STATUS
                      || q->route.subresource == SUBRESOURCE_BINDING;

    if (kind->set_defaults != NULL
        && !(keeps_spec && kind->flags & KIND_SPEC_DEFAULTS))
        kind->set_defaults(q->arena, tree);
}

int
write_normalize(struct request *q,
                struct json *tree,
                const struct json *old_tree,
                struct error *err)
{
    return record_normalize_change(q->route.kind->record,
                                   q->arena,
                                   tree,
                                   old_tree,
                                   NULL,
                                   err);
}

static const struct object *
make_object(struct request *q,
            struct store_txn *txn,
            struct json *tree,
            const struct json *old_tree)
{
    struct error err = {0};
    char revision[24];

    snprintf(revision, sizeof(revision), "%" PRId64, store_txn_revision(txn));
    json_set_string(q->arena,
                    json_make_object(q->arena, tree, "metadata"),
                    "resourceVersion",
                    revision);
    /* Fields that admission and preparation added get their defaults and their
     * order, too.
     */
    write_set_defaults(q, tree);
    if (write_normalize(q, tree, old_tree, &err) < 0)
        log_error("%s", err.text);
    return object_new_packed(kind_stored(q->route.kind),
                             stored_tree(q, tree),
                             store_txn_patterns(txn));
}

const struct object *
write_put(struct request *q,
          struct store_txn *txn,
          struct json *tree,
          const struct json *old_tree)
{
    const struct object *object = make_object(q, txn, tree, old_tree);
    CLEANUP_STRBUF struct strbuf delta = STRBUF_INIT;

    if (old_tree != NULL && q->route.kind->stored_as == NULL) {
        const struct json *diff = json_merge_diff(q->arena, old_tree, tree);

        if (diff != NULL)
            json_print(diff, &delta);
    }
    store_txn_put(txn, object, delta.length > 0 ? delta.text : NULL);
    return object;
}

static void
release_content(struct store_txn *txn, const struct job *job)
{
    const struct job_blob *const blobs[] = {
        job->spec.script,
        job->spec.environment,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(blobs); i++)
        if (blobs[i] != NULL && blobs[i]->digest != NULL)
            store_txn_release_blob(txn, blobs[i]->digest);
}

void
write_remove(struct request *q,
             struct store_txn *txn,
             const struct object *old_object,
             struct json *tree)
{
    if (old_object->kind == &job_kind)
        release_content(txn, job_of(old_object));
    if (old_object->kind == &node_kind)
        node_record_leave(q, txn, old_object);
    store_txn_remove(txn, make_object(q, txn, tree, NULL));
}
