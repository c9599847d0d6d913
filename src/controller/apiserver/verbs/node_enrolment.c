/* SPDX-License-Identifier: Apache-2.0 */
/* node_enrolment.c - how a machine becomes a node: enrol (issues its secret,
 * once), approve, reset
 *
 * See:     doc/decisions.md 16.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/node_record.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/node_secret.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

/* Root may enrol any machine, a user only a node that the same user created. */
static bool
may_enrol(struct request *q, const struct object *object)
{
    const char *uid = string_map_find(&object->meta->annotations, ANNOTATION_UID);

    if (q->principal->type == PRINCIPAL_ADMINISTRATOR
        || (q->principal->type == PRINCIPAL_ENROLLING && uid == NULL))
        return true;
    if (uid != NULL && strcmp(uid, arena_printf(q->arena, "%u", (unsigned)q->principal->uid)) == 0)
        return true;
    reply_forbidden(&q->reply, &node_kind, q->route.name,
                    "a node can only be enrolled by root or by the user who "
                    "created it");
    return false;
}

void
verb_enrol(struct request *q)
{
    const struct object *object = write_find(q);
    const char *name = node_secret_name(q->arena, q->route.name);
    struct json *tree;
    struct store_txn *txn;
    struct node_secret secret;
    struct digest verifier;
    char hex[DIGEST_HEX_SIZE];

    if (object == NULL || !may_enrol(q, object)) {
        request_finish_durably(q);
        return;
    }
    if (store_find_secret(q->server->store, name) != NULL) {
        log_warning("node '%s' is already enrolled, but another agent without "
                    "its secret tries to enrol as this node: another machine "
                    "with the same name, or the node lost its state directory "
                    "(kctl reset node %s lets it enrol again)",
                    q->route.name, q->route.name);
        reply_conflict(&q->reply, &node_kind, "/enrol", q->route.name,
                       "the node already has a secret; if the node lost it, "
                       "an administrator can let it enrol again: kctl reset "
                       "node %s",
                       q->route.name);
        request_finish_durably(q);
        return;
    }
    node_secret_issue(&secret);
    node_secret_verifier(&secret, &verifier);
    digest_format(&verifier, hex);
    txn = store_begin(q->server->store);
    store_txn_put_secret(txn, name, hex);
    node_secret_format(&secret, hex);
    tree = json_object(q->arena);
    json_set_string(q->arena, tree, "kind", "NodeSecret");
    json_set_string(q->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, tree, "secret", hex);
    reply_tree(&q->reply, 201, tree);
    request_commit(q, txn);
}

void
verb_approve(struct request *q)
{
    const struct object *object = write_find(q);
    struct json *tree, *taints;
    struct store_txn *txn;
    bool found = false;

    if (object == NULL) {
        request_finish_durably(q);
        return;
    }
    tree = object_tree(object, q->arena);
    taints = json_get_path(tree, "spec.taints");
    for (uint32_t i = json_count(taints); i-- > 0;) {
        const char *key = json_get_text(json_at(taints, i), "key");

        if (key == NULL || strcmp(key, TAINT_NOT_APPROVED) != 0)
            continue;
        json_remove_at(taints, i);
        found = true;
    }
    if (!found) {
        reply_object(&q->reply, 200, object);
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    object = write_put(q, txn, tree, object_tree(object, q->arena));
    if (object == NULL) {
        request_rollback(q, txn);
        return;
    }
    reply_object(&q->reply, 200, object);
    request_commit(q, txn);
}

/* Forgets the record of a node that is being or was deleted, and its secret if
 * it has one.
 */
static void
forget_record(struct request *q)
{
    const char *name = node_secret_name(q->arena, q->route.name);
    struct store_txn *txn = store_begin(q->server->store);

    node_record_forget(q, txn, q->route.name);
    store_txn_remove_secret(txn, name);
    reply_success(&q->reply, 200);
    request_commit(q, txn);
}

void
verb_reset(struct request *q)
{
    const char *name = node_secret_name(q->arena, q->route.name);
    struct store_txn *txn;

    if (node_record_has(q, q->route.name)) {
        forget_record(q);
        return;
    }
    if (write_find(q) == NULL) {
        request_finish_durably(q);
        return;
    }
    reply_success(&q->reply, 200);
    if (store_find_secret(q->server->store, name) == NULL) {
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    store_txn_remove_secret(txn, name);
    request_commit(q, txn);
}
