/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is reinstalled or renamed back registers anew, and would come back uncordoned,
 * unlabelled and with taints that an administrator had removed: it would take jobs again
 * because of a deletion. So whatever administrators have set stays under the node's name.
 * Taints that components set are left out, as they follow from causes that may be gone.
 */
#include "controller/apiserver/objects/node_record.h"

#include <string.h>

#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Taints whose absence is kept, too: an administrator has removed them. */
static const char *const accepted_taints[] = {
    TAINT_NOT_APPROVED,
    TAINT_VIRTUAL,
};

static const char *
name_of_record(const struct request *q, const char *node)
{
    return arena_printf(q->arena, "node-record/%s", node);
}

/* Whether administrators set this taint. Taints that the lifecycle component
 * and the agent set are not kept: they come and go with their cause.
 */
static bool
is_somebodys(const char *key)
{
    if (strcmp(key, TAINT_OUT_OF_SERVICE) == 0)
        return true;
    return strncmp(key, "node.kubernetes.io/", 19) != 0 && strcmp(key, TAINT_HOOK_FAILED) != 0
           && strcmp(key, TAINT_CHECK_FAILED) != 0 && strcmp(key, TAINT_HEALTH_CHECK_FAILED) != 0
           && strcmp(key, TAINT_HARDWARE_MISSING) != 0;
}

static struct json *
taints_to_keep(const struct request *q, const struct json *tree)
{
    const struct json *taints = json_get_path(tree, "spec.taints");
    struct json *kept = json_array(q->arena);

    for (uint32_t i = 0; i < json_count(taints); i++) {
        const char *key = json_get_text(json_at(taints, i), "key");

        if (key != NULL && is_somebodys(key))
            json_append(q->arena, kept, json_dup(q->arena, taints->items[i]));
    }
    return kept;
}

static const char *
owner_of(const struct json *tree)
{
    const struct json *notes = json_get_path(tree, "metadata.annotations");
    const char *uid = json_get_text(notes, ANNOTATION_UID);

    return uid != NULL ? uid : "";
}

static void
keep_record(struct request *q, struct store_txn *txn, const struct object *node)
{
    struct json *tree = object_tree(node, q->arena);
    struct json *labels = json_get_path(tree, "metadata.labels");
    struct json *record = json_object(q->arena);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_set(q->arena, record, "unschedulable",
             json_bool(q->arena, node_of(node)->spec.unschedulable));
    json_set(q->arena, record, "labels", labels != NULL ? labels : json_object(q->arena));
    json_set(q->arena, record, "taints", taints_to_keep(q, tree));
    json_set_string(q->arena, record, "owner", owner_of(tree));
    json_print(record, &text);
    store_txn_put_secret(txn, name_of_record(q, node->meta->name), text.text);
}

const char *
node_secret_name(struct arena *arena, const char *node)
{
    return arena_printf(arena, "node/%s", node);
}

void
node_record_leave(struct request *q, struct store_txn *txn, const struct object *node)
{
    const char *secret = node_secret_name(q->arena, node->meta->name);

    keep_record(q, txn, node);
    if (store_find_secret(q->server->store, secret) != NULL)
        store_txn_remove_secret(txn, secret);
}

bool
node_record_has(const struct request *q, const char *name)
{
    return store_find_secret(q->server->store, name_of_record(q, name)) != NULL;
}

bool
node_record_forget(struct request *q, struct store_txn *txn, const char *name)
{
    if (!node_record_has(q, name))
        return false;
    store_txn_remove_secret(txn, name_of_record(q, name));
    return true;
}

static const struct json *
read_record(struct request *q, const struct json *tree)
{
    const char *name = json_path_text(tree, "metadata.name");
    const char *text =
        name != NULL ? store_find_secret(q->server->store, name_of_record(q, name)) : NULL;

    return text != NULL ? json_parse(q->arena, text, strlen(text), NULL, NULL) : NULL;
}

static bool
has_taint(const struct json *taints, const char *key, const char *effect)
{
    for (uint32_t i = 0; i < json_count(taints); i++) {
        const char *other = json_get_text(json_at(taints, i), "key");
        const char *does = json_get_text(json_at(taints, i), "effect");

        if (other != NULL && strcmp(other, key) == 0
            && (effect == NULL || does == NULL || strcmp(does, effect) == 0))
            return true;
    }
    return false;
}

static void
drop_taint(struct json *taints, const char *key)
{
    for (uint32_t i = json_count(taints); i-- > 0;) {
        const char *other = json_get_text(json_at(taints, i), "key");

        if (other != NULL && strcmp(other, key) == 0)
            json_remove_at(taints, i);
    }
}

/* A node that was approved is still approved when it returns, unless the agent
 * of that name belongs to another user.
 */
static void
restore_taints(struct request *q, struct json *tree, const struct json *record)
{
    struct json *spec = json_make_object(q->arena, tree, "spec");
    struct json *taints = json_get(spec, "taints");
    const struct json *kept = json_get(record, "taints");
    const char *owner = json_get_text(record, "owner");

    if (!json_is(taints, JSON_ARRAY)) {
        taints = json_array(q->arena);
        json_set(q->arena, spec, "taints", taints);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(accepted_taints); i++)
        if (owner != NULL && strcmp(owner, owner_of(tree)) == 0
            && !has_taint(kept, accepted_taints[i], NULL))
            drop_taint(taints, accepted_taints[i]);
    for (uint32_t i = 0; i < json_count(kept); i++) {
        const struct json *taint = json_at(kept, i);
        const char *key = json_get_text(taint, "key");

        if (key != NULL && !has_taint(taints, key, json_get_text(taint, "effect")))
            json_append(q->arena, taints, json_dup(q->arena, taint));
    }
}

static void
restore_labels(struct request *q, struct json *tree, const struct json *record)
{
    const struct json *kept = json_get(record, "labels");
    struct json *labels =
        json_make_object(q->arena, json_make_object(q->arena, tree, "metadata"), "labels");

    for (uint32_t i = 0; json_is(kept, JSON_OBJECT) && i < json_count(kept); i++)
        if (json_get(labels, kept->members[i].name) == NULL)
            json_set(q->arena, labels, kept->members[i].name,
                     json_dup(q->arena, kept->members[i].value));
}

bool
node_record_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *record = read_record(q, tree);

    (void)old_object;
    if (record == NULL)
        return true;
    if (json_is_true(json_get(record, "unschedulable")))
        json_set(q->arena, json_make_object(q->arena, tree, "spec"), "unschedulable",
                 json_bool(q->arena, true));
    restore_taints(q, tree, record);
    restore_labels(q, tree, record);
    return true;
}
