/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/storage/ephemeral_claims.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL 16u

struct ephemeral_claims {
    struct client *client;
    struct object_cache *cache;
    struct workqueue *queue; /* keys: pods "NS/NAME" */
};

static bool
is_owned_by(const struct object *claim, const struct object *pod)
{
    return meta_is_controlled_by(claim->meta, pod) && object_owner_is_same(claim, pod);
}

static bool
is_over(const struct object *pod)
{
    return pod_is_finished(pod_of(pod)) || pod->meta->deleted_at_us != 0;
}

/* --- a claim for a volume ------------------------------------------------- */

static void
set_number(struct arena *arena, struct json *annotations, const char *name, const int64_t *number)
{
    if (number != NULL)
        json_set_string(arena, annotations, name, arena_printf(arena, "%" PRId64, *number));
}

/* The claim belongs to the user of the pod. */
static void
set_owner(struct arena *arena, struct json *meta, const struct object *pod)
{
    const struct security_context *who = pod_of(pod)->spec.security_context;
    const char *user = string_map_find(&pod->meta->annotations, ANNOTATION_USER);
    struct json *annotations = json_make_object(arena, meta, "annotations");
    struct json *owners = json_array(arena), *owner = json_object(arena);

    if (who != NULL) {
        set_number(arena, annotations, ANNOTATION_UID, who->run_as_user);
        set_number(arena, annotations, ANNOTATION_GID, who->run_as_group);
    }
    if (user != NULL)
        json_set_string(arena, annotations, ANNOTATION_USER, user);
    json_set_string(arena, owner, "apiVersion", "v1");
    json_set_string(arena, owner, "kind", "Pod");
    json_set_string(arena, owner, "name", pod->meta->name);
    json_set_string(arena, owner, "uid", pod->meta->uid);
    json_set_bool(arena, owner, "controller", true);
    json_set_bool(arena, owner, "blockOwnerDeletion", true);
    json_append(arena, owners, owner);
    json_set(arena, meta, "ownerReferences", owners);
}

static void
make_claim(struct pending_calls *calls, const struct object *pod, const struct json *ephemeral,
           const char *name)
{
    struct arena *arena = arena_new(0);
    const struct json *template = json_get(ephemeral, "volumeClaimTemplate");
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    static const char *const copied[] = {"labels", "annotations"};

    json_set_string(arena, meta, "name", name);
    json_set_string(arena, meta, "namespace", pod->meta->namespace);
    for (size_t i = 0; i < ARRAY_SIZE(copied); i++) {
        const struct json *map = json_get(json_get(template, "metadata"), copied[i]);

        if (json_count(map) > 0)
            json_set(arena, meta, copied[i], json_dup(arena, map));
    }
    meta_remove_reserved(json_get(meta, "labels"));
    meta_remove_reserved(json_get(meta, "annotations"));
    for (const char *const *n = claim_system_annotations; *n != NULL; n++)
        if (json_get(meta, "annotations") != NULL)
            json_remove(json_get(meta, "annotations"), *n);
    set_owner(arena, meta, pod);
    json_set(arena, body, "spec", json_dup(arena, json_get(template, "spec")));
    pending_calls_send(calls, arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &persistent_volume_claim_kind,
                           .namespace = pod->meta->namespace,
                           .body = body,
                       });
}

static void
check_volume(const struct ephemeral_claims *e, struct pending_calls *calls,
             const struct object *pod, const struct pod_volume *volume)
{
    char name[POD_CLAIM_NAME_SIZE];
    const struct object *claim;

    if (volume->ephemeral == NULL)
        return;
    pod_volume_claim(pod_of(pod), volume, name);
    claim = object_cache_find(e->cache, &persistent_volume_claim_kind, pod->meta->namespace, name);
    if (claim == NULL && !is_over(pod))
        make_claim(calls, pod, volume->ephemeral, name);
    else if (claim != NULL && pod_is_finished(pod_of(pod)) && claim->meta->deleted_at_us == 0
             && is_owned_by(claim, pod))
        pending_calls_delete(calls, claim);
}

static void
work(const char *key, void *context)
{
    struct ephemeral_claims *e = context;
    struct pending_calls *calls = pending_calls_begin(e->client, e->queue, key);
    const struct object *pod = object_cache_find_key(e->cache, &pod_kind, key);

    for (unsigned i = 0; pod != NULL && i < pod_of(pod)->spec.volumes.count; i++)
        check_volume(e, calls, pod, &pod_of(pod)->spec.volumes.items[i]);
    pending_calls_end(calls);
}

/* --- events that queue a pod ---------------------------------------------- */

static void
add(const struct object *pod, void *context)
{
    struct ephemeral_claims *e = context;
    char key[OBJECT_KEY_SIZE];

    for (unsigned i = 0; i < pod_of(pod)->spec.volumes.count; i++) {
        if (pod_of(pod)->spec.volumes.items[i].ephemeral == NULL)
            continue;
        object_key(pod, key);
        workqueue_add(e->queue, key);
        return;
    }
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct ephemeral_claims *e = context;

    if (new_object != NULL && object_cache_has_synced(e->cache)
        && (old_object == NULL || is_over(old_object) != is_over(new_object)
            || pod_is_finished(pod_of(new_object))))
        add(new_object, e);
}

/* A claim that was deleted while its pod needs it is created again. */
static void
on_claim(const struct object *old_object, const struct object *new_object, void *context)
{
    struct ephemeral_claims *e = context;
    const struct owner_reference *owner;
    const struct object *pod;

    if (new_object != NULL || !object_cache_has_synced(e->cache))
        return;
    owner = meta_controller_of(old_object->meta, &pod_kind);
    if (owner == NULL)
        return;
    pod = object_cache_find(e->cache, &pod_kind, old_object->meta->namespace, owner->name);
    if (pod != NULL)
        add(pod, e);
}

static void
on_synced(void *context)
{
    struct ephemeral_claims *e = context;

    object_cache_visit(e->cache, &pod_kind, add, e);
}

struct ephemeral_claims *
ephemeral_claims_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct ephemeral_claims *e = xnew(struct ephemeral_claims);

    e->client = client;
    e->cache = cache;
    e->queue = workqueue_new(loop, PARALLEL, work, e);
    object_cache_listen(cache, &pod_kind, on_pod, e);
    object_cache_on_synced(cache, on_synced, e);
    object_cache_listen(cache, &persistent_volume_claim_kind, on_claim, e);
    return e;
}

void
ephemeral_claims_free(struct ephemeral_claims *e)
{
    if (e == NULL)
        return;
    workqueue_free(e->queue);
    free(e);
}
