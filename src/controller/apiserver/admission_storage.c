/* SPDX-License-Identifier: Apache-2.0 */
/* admission_storage.c - claims and volumes: the class that is meant when none
 * is said, and that nothing goes which is in use
 */
#include <string.h>

#include "controller/apiserver/admission.h"
#include "controller/apiserver/request.h"
#include "controller/apiserver/server.h"
#include "controller/store/store.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
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
volume_in_use_admit(struct request *q,
                    struct json *tree,
                    const struct object *old_object)
{
    (void)old_object;
    return add_finalizer(q, tree, FINALIZER_VOLUME);
}

bool
claim_in_use_admit(struct request *q,
                   struct json *tree,
                   const struct object *old_object)
{
    (void)old_object;
    return add_finalizer(q, tree, FINALIZER_CLAIM);
}

/* Of several default classes the newest counts, then the first by name. */
static bool
choose(const struct object *class, void *context)
{
    const struct object **chosen = context;

    if (*chosen == NULL
        || class->meta->created_at_us > (*chosen)->meta->created_at_us
        || (class->meta->created_at_us == (*chosen)->meta->created_at_us
            && strcmp(class->meta->name, (*chosen)->meta->name) < 0))
        *chosen = class;
    return true;
}

bool
default_storage_admit(struct request *q,
                      struct json *tree,
                      const struct object *old_object)
{
    struct json *spec = json_make_object(q->arena, tree, "spec");
    const struct json *annotations =
        json_get_path(tree, "metadata.annotations");
    const struct object *class = NULL;

    (void)old_object;
    if (json_get(spec, "storageClassName") != NULL
        || json_get(annotations, "volume.beta.kubernetes.io/storage-class")
               != NULL)
        return true;
    store_visit_index(q->server->store,
                      INDEX_STORAGE_BY_DEFAULT,
                      STORE_PENDING,
                      "default",
                      choose,
                      &class);
    if (class != NULL)
        json_set_string(q->arena, spec, "storageClassName", class->meta->name);
    return true;
}
