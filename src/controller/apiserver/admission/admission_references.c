/* SPDX-License-Identifier: Apache-2.0 */
/* admission_references.c - users may name only their own objects as controller,
 * or with blockOwnerDeletion: both are rights over the owner
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

static const char *
text(const struct json *reference, const char *name)
{
    const char *value = json_get_text(reference, name);

    return value != NULL ? value : "";
}

static bool
claims_a_right(const struct json *reference)
{
    return json_is_true(json_get(reference, "controller"))
           || json_is_true(json_get(reference, "blockOwnerDeletion"));
}

/* Maps references by uid. */
static struct map *
index_references(const struct json *owners)
{
    struct map *map = map_new();

    for (uint32_t i = 0; i < json_count(owners); i++)
        map_put(map, text(json_at(owners, i), "uid"), json_at(owners, i));
    return map;
}

/* Whether the reference names an existing object of the principal. */
static bool
is_to_own_object(const struct request *q, const struct json *reference)
{
    const struct kind *kind =
        kind_find_by_name(text(reference, "apiVersion"), text(reference, "kind"));
    const struct object *owner;
    uid_t uid;

    if (kind == NULL || kind->flags & (KIND_ANSWERED | KIND_MEASURED))
        return false;
    owner = store_find(q->server->store, STORE_PENDING, kind_stored(kind),
                       kind->flags & KIND_NAMESPACED ? q->route.namespace : NULL,
                       text(reference, "name"));
    return owner != NULL && strcmp(owner->meta->uid, text(reference, "uid")) == 0
           && object_owner(owner, &uid) && uid == q->principal->uid;
}

static bool
refuse(struct request *q, const struct json *tree, const struct json *reference)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "OwnerReferences: metadata.ownerReferences: %s '%s' with "
                    "uid '%s' is not your object; 'controller' and "
                    "'blockOwnerDeletion' may be true only for your own jobs, "
                    "pods and claims, given by apiVersion, kind, name and uid",
                    text(reference, "kind"), text(reference, "name"), text(reference, "uid"));
    return false;
}

bool
owner_references_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *owners = json_get_path(tree, "metadata.ownerReferences");
    const struct json *old_owners = NULL;
    struct map *known;
    bool is_right = true;

    if (json_count(owners) == 0 || !principal_is_person(q->principal)
        || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if (old_object != NULL)
        old_owners = json_get_path(request_old_tree(q, old_object), "metadata.ownerReferences");
    known = index_references(old_owners);
    for (uint32_t i = 0; i < json_count(owners) && is_right; i++) {
        const struct json *reference = json_at(owners, i);
        const struct json *old = map_find(known, text(reference, "uid"));

        if (!claims_a_right(reference) || (old != NULL && json_equals(reference, old))
            || is_to_own_object(q, reference))
            continue;
        is_right = refuse(q, tree, reference);
    }
    map_free(known);
    return is_right;
}
