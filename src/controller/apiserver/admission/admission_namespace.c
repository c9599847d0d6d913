/* SPDX-License-Identifier: Apache-2.0 */
/* admission_namespace.c - objects are created only in namespaces that exist and
 * are not being deleted; the system's namespaces cannot be deleted; and the other
 * name of a namespace, as an account (access/account_names.h)
 */
#include <string.h>

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/cluster/namespace.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const char *const kept[] = {"default", "kube-public", "kube-system"};

bool
namespace_deletion_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)tree;
    (void)old_object;
    for (unsigned i = 0; i < ARRAY_SIZE(kept); i++)
        if (strcmp(kept[i], q->route.name) == 0) {
            reply_forbidden(&q->reply, q->route.kind, q->route.name,
                            "this namespace may not be deleted");
            return false;
        }
    return true;
}

static void
refuse_terminating(struct request *q, const char *name, const char *namespace)
{
    struct json *cause = json_object(q->arena);
    struct json *causes = json_array(q->arena);

    reply_forbidden(&q->reply, q->route.kind, name != NULL ? name : "",
                    "unable to create new content in namespace %s because it "
                    "is being terminated",
                    namespace);
    json_set_string(q->arena, cause, "reason", "NamespaceTerminating");
    json_set_string(q->arena, cause, "message",
                    arena_printf(q->arena, "namespace %s is being terminated", namespace));
    json_set_string(q->arena, cause, "field", "metadata.namespace");
    json_append(q->arena, causes, cause);
    json_set(q->arena, json_get(q->reply.tree, "details"), "causes", causes);
}

bool
namespace_lifecycle_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *namespace = q->route.namespace;
    const struct object *object;

    (void)old_object;
    if (!(q->route.kind->flags & KIND_NAMESPACED))
        return true;
    object = store_find(q->server->store, STORE_PENDING, &namespace_kind, NULL, namespace);
    if (object == NULL) {
        if (!write_is_damaged(q, 500, &namespace_kind, NULL, namespace))
            reply_not_found(&q->reply, &namespace_kind, namespace);
        return false;
    }
    if (object->meta->deleted_at_us == 0)
        return true;
    refuse_terminating(q, json_path_text(tree, "metadata.name"), namespace);
    return false;
}

/* ---- The account's name ---- */

static bool
refuse_name(struct request *q, struct json *tree, const char *account, const char *namespace)
{
    return admission_refuse(q, tree, "AccountName",
                            arena_printf(q->arena,
                                         "the account '%.80s' is namespace %s already (names of "
                                         "accounts differ in more than their case)",
                                         account, namespace));
}

/* A name means one namespace: the name of one is not the account of another. */
bool
account_name_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *name = json_path_text(tree, "metadata.name");
    const char *account =
        json_get_text(json_get_path(tree, "metadata.annotations"), ANNOTATION_ACCOUNT);
    char folded[NAMESPACE_ACCOUNT_MAX + 1];
    const char *found;

    if (old_object == NULL && name != NULL) {
        found = account_names_find(q->server->store, name);
        if (found != NULL && strcmp(found, name) != 0)
            return refuse_name(q, tree, name, found);
    }
    if (account == NULL)
        return true;
    if (!namespace_fold_account(account, folded))
        return admission_refuse(q, tree, "AccountName",
                                ANNOTATION_ACCOUNT ": expected a letter or digit, then letters, "
                                                   "digits and any of -_.@+: (63 at most)");
    found = account_names_find(q->server->store, account);
    return found == NULL || (name != NULL && strcmp(found, name) == 0)
           || refuse_name(q, tree, account, found);
}

/* Jobs and pods carry the spelling to their nodes and tables. It is that of their
 * creation, and nobody's own.
 */
bool
account_copy_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *account = old_object != NULL
                              ? string_map_find(&old_object->meta->annotations, ANNOTATION_ACCOUNT)
                              : account_names_spelling(q->server->store, q->route.namespace);
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *is = json_get_text(json_get(meta, "annotations"), ANNOTATION_ACCOUNT);

    if (is == NULL ? account == NULL : account != NULL && strcmp(is, account) == 0)
        return true; /* parts of the tree may be shared with the old tree */
    if (account != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_ACCOUNT, account);
    else if (json_is(json_get(meta, "annotations"), JSON_OBJECT))
        json_remove(json_get(meta, "annotations"), ANNOTATION_ACCOUNT);
    return true;
}
