/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/conformance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static bool
refuse(struct request *q, const char *why)
{
    reply_bad_request(&q->reply, "%s", why);
    return false;
}

static void
put(struct request *q, struct store_txn *txn, const struct kind *kind, struct json *tree,
    bool is_removed)
{
    char revision[24];
    const struct object *object;

    snprintf(revision, sizeof(revision), "%" PRId64, store_txn_revision(txn));
    json_set_string(q->arena, json_make_object(q->arena, tree, "metadata"), "resourceVersion",
                    revision);
    object = object_new(kind, tree);
    if (is_removed)
        store_txn_remove(txn, object);
    else
        store_txn_put(txn, object, NULL);
}

static bool
load(struct request *q, struct store_txn *txn, struct json *tree)
{
    struct error err = {0};
    bool is_removed = json_is_true(json_get(tree, "$removed"));
    const char *version = json_get_text(tree, "apiVersion");
    const char *name = json_get_text(tree, "kind");
    const struct kind *kind =
        version != NULL && name != NULL ? kind_find_by_name(version, name) : NULL;

    if (kind == NULL)
        return refuse(q, "an item has a kind that is not served");
    json_remove(tree, "$removed");
    if (record_normalize(kind->record, q->arena, tree, NULL, &err) < 0)
        return refuse(q, err.text);
    if (kind->stored_as != NULL) {
        tree = kind->to_stored(q->arena, tree);
        kind = kind->stored_as;
        if (record_normalize(kind->record, q->arena, tree, NULL, &err) < 0)
            return refuse(q, err.text);
    }
    if (json_path_text(tree, "metadata.name") == NULL)
        return refuse(q, "an item has no name");
    put(q, txn, kind, tree, is_removed);
    return true;
}

static bool
load_all(struct request *q, struct store_txn *txn)
{
    struct error err = {0};
    struct json *body = json_parse(q->arena, q->text, q->length, &q->notes, &err);
    const struct json *items = json_get(body, "items");

    if (!json_is(items, JSON_ARRAY))
        return refuse(q, body == NULL ? err.text : "there are no items");
    for (uint32_t i = 0; i < items->count; i++)
        if (!load(q, txn, items->items[i]))
            return false;
    return true;
}

static void
serve_load(struct request *q)
{
    struct store_txn *txn = store_begin(q->server->store);

    if (load_all(q, txn)) {
        reply_success(&q->reply, 200);
        request_commit(q, txn);
    } else {
        store_rollback(txn);
        request_finish_durably(q);
    }
}

bool
conformance_serve(struct request *q, const char *path)
{
    if (strcmp(path, "/conformance/load") == 0) {
        serve_load(q);
        return true;
    }
    if (strcmp(path, "/conformance/compact") != 0)
        return false;
    store_compact(q->server->store, store_revision(q->server->store));
    reply_success(&q->reply, 200);
    request_finish(q);
    return true;
}
