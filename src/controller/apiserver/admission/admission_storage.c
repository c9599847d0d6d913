/* SPDX-License-Identifier: Apache-2.0 */
/* admission_storage.c - claims and volumes: the default storage class, the
 * owner of a claim, and no deletion while they are in use
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
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static bool
add_finalizer(struct request *q, struct json *tree, const char *name)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *list = json_get(meta, "finalizers");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_at(list, i)->text, name) == 0)
            return true;
    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(q->arena);
        json_set(q->arena, meta, "finalizers", list);
    }
    json_append(q->arena, list, json_string(q->arena, name));
    return true;
}

bool
volume_in_use_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return add_finalizer(q, tree, FINALIZER_VOLUME);
}

bool
claim_in_use_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    (void)old_object;
    return add_finalizer(q, tree, FINALIZER_CLAIM);
}

/* Chooses the newest default class; of several equally new, the first by name.
 */
static bool
choose(const struct object *class, void *context)
{
    const struct object **chosen = context;

    if (*chosen == NULL || class->meta->created_at_us > (*chosen)->meta->created_at_us
        || (class->meta->created_at_us == (*chosen)->meta->created_at_us
            && strcmp(class->meta->name, (*chosen)->meta->name) < 0))
        *chosen = class;
    return true;
}

bool
default_storage_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = json_make_object(q->arena, tree, "spec");
    const struct json *annotations = json_get_path(tree, "metadata.annotations");
    const struct object *class = NULL;

    (void)old_object;
    if (json_get(spec, "storageClassName") != NULL
        || json_get(annotations, "volume.beta.kubernetes.io/storage-class") != NULL)
        return true;
    store_visit_index(q->server->store, &storage_class_kind, STORAGE_CLASS_BY_DEFAULT,
                      STORE_PENDING, "default", choose, &class);
    if (class != NULL)
        json_set_string(q->arena, spec, "storageClassName", class->meta->name);
    return true;
}

/* --- the owner of a claim ---------------------------------------------------
 */

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "ClaimOwner: %s", why);
    return false;
}

/* The volume is made for the principal, whatever the body says. */
static bool
sign(struct request *q, struct json *tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    struct json *annotations = json_make_object(q->arena, meta, "annotations");

    if (json_count(json_get(meta, "ownerReferences")) > 0)
        return refuse(q, tree,
                      "metadata.ownerReferences of a claim are set only by "
                      "the controller; for a volume that lives as long as "
                      "its pod, use a pod volume of type 'ephemeral'");
    for (const char *const *name = claim_system_annotations; *name != NULL; name++)
        if (json_get(annotations, *name) != NULL)
            return refuse(q, tree,
                          arena_printf(q->arena,
                                       "the annotation '%s' is set only by "
                                       "the controller",
                                       *name));
    json_set_string(q->arena, annotations, ANNOTATION_UID,
                    arena_printf(q->arena, "%u", (unsigned)q->principal->uid));
    json_set_string(q->arena, annotations, ANNOTATION_GID,
                    arena_printf(q->arena, "%u", (unsigned)q->principal->gid));
    json_set_string(q->arena, annotations, ANNOTATION_USER, q->principal->name);
    return true;
}

/* Keeps the annotations, also when a client leaves them out. */
static void
keep_annotations(struct request *q, struct json *meta, const struct object *old_object)
{
    for (const char *const *name = claim_system_annotations; *name != NULL; name++) {
        const char *value = string_map_find(&old_object->meta->annotations, *name);

        if (value != NULL)
            json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), *name,
                            value);
        else if (json_get(meta, "annotations") != NULL)
            json_remove(json_get(meta, "annotations"), *name);
    }
}

static bool
keep(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const struct json *given = json_get(meta, "ownerReferences");
    const struct json *old =
        json_get_path(request_old_tree(q, old_object), "metadata.ownerReferences");

    keep_annotations(q, meta, old_object);
    if (json_count(given) == 0 && old != NULL)
        json_set(q->arena, meta, "ownerReferences", json_dup(q->arena, old));
    else if (json_count(given) > 0 && (old == NULL || !json_equals(given, old)))
        return refuse(q, tree,
                      "metadata.ownerReferences of a claim are set only by "
                      "the controller; leave them as they are");
    return true;
}

bool
claim_owner_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *mode = json_path_text(tree, "spec.volumeMode");

    if (old_object == NULL && mode != NULL && strcmp(mode, "Block") == 0)
        return refuse(q, tree,
                      "volumeMode: block devices are not mapped; ask for "
                      "Filesystem");
    if (!principal_is_person(q->principal) || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if (old_object == NULL)
        return sign(q, tree);
    return keep(q, tree, old_object);
}
