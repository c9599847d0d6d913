/* SPDX-License-Identifier: Apache-2.0 */
/* A claim in use must not vanish under a running job, but anybody may write the name of a
 * claim into a pod, and would keep it for ever. So a claim that belongs to a user waits for
 * pods of that user only.
 */
#include "controller/lifecycle/storage/storage_protection.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/client/client.h"

#define PARALLEL      4u
#define USER_KEY_SIZE (OBJECT_KEY_SIZE + 16)

struct storage_protection {
    struct client *client;
    struct object_cache *cache;
    struct workqueue *queue; /* keys: claims "NS/NAME", volumes "NAME" */
    struct map *users;       /* claim to its number of unfinished pods: of
                              * all users ("NS/NAME"), and of one user ("UID
                              * NS/NAME") */
};

/* --- pods that use a claim ------------------------------------------------ */

static void
count(struct storage_protection *g, const char *claim, intptr_t more)
{
    intptr_t users = (intptr_t)map_find(g->users, claim) + more;

    if (users > 0)
        map_put(g->users, claim, (void *)users);
    else
        map_remove(g->users, claim);
}

static bool
claim_key(const struct pod *pod, const struct pod_volume *volume, char out[OBJECT_KEY_SIZE])
{
    char buffer[POD_CLAIM_NAME_SIZE];
    const char *name = pod_volume_claim(pod, volume, buffer);

    if (name != NULL)
        snprintf(out, OBJECT_KEY_SIZE, "%s/%s", pod->meta.namespace, name);
    return name != NULL;
}

/* The key in `users` of a claim for the pods of one user. */
static void
key_of_user(char out[USER_KEY_SIZE], uid_t uid, const char *claim)
{
    snprintf(out, USER_KEY_SIZE, "%u %s", (unsigned)uid, claim);
}

static void
count_pod(struct storage_protection *g, const struct object *object, intptr_t more)
{
    const struct pod *pod = pod_of(object);
    char key[OBJECT_KEY_SIZE], of_user[USER_KEY_SIZE];
    uid_t uid;

    if (pod_is_finished(pod))
        return;
    for (unsigned i = 0; i < pod->spec.volumes.count; i++) {
        if (!claim_key(pod, &pod->spec.volumes.items[i], key))
            continue;
        count(g, key, more);
        if (!object_owner(object, &uid))
            continue;
        key_of_user(of_user, uid, key);
        count(g, of_user, more);
    }
}

/* Only the owner's pods keep a user-owned claim: anybody may name the claim in
 * a pod.
 */
static bool
is_used(const struct storage_protection *g, const struct object *object)
{
    char key[OBJECT_KEY_SIZE], of_user[USER_KEY_SIZE];
    uid_t uid;

    if (object->kind == &persistent_volume_kind)
        return persistent_volume_is_in_phase(persistent_volume_of(object), "Bound");
    object_key(object, key);
    if (!claim_is_user_owned(object) || !object_owner(object, &uid))
        return map_find(g->users, key) != NULL;
    key_of_user(of_user, uid, key);
    return map_find(g->users, of_user) != NULL;
}

/* --- removing the finalizer ----------------------------------------------- */

static const struct object *
find(const struct storage_protection *g, const char *key)
{
    return object_cache_find_key(
        g->cache,
        strchr(key, '/') != NULL ? &persistent_volume_claim_kind : &persistent_volume_kind, key);
}

static void
work(const char *key, void *context)
{
    struct storage_protection *g = context;
    struct pending_calls *calls = pending_calls_begin(g->client, g->queue, key);
    const struct object *object = find(g, key);
    const char *name = strchr(key, '/') != NULL ? FINALIZER_CLAIM : FINALIZER_VOLUME;

    if (object != NULL && object->meta->deleted_at_us != 0 && meta_has_finalizer(object->meta, name)
        && !is_used(g, object))
        pending_calls_remove_finalizer(calls, object, name);
    pending_calls_end(calls);
}

/* --- events that queue a claim or a volume -------------------------------- */

static void
add(const struct object *object, void *context)
{
    struct storage_protection *g = context;
    char key[OBJECT_KEY_SIZE];

    if (object->meta->deleted_at_us == 0)
        return;
    object_key(object, key);
    workqueue_add(g->queue, key);
}

static void
on_storage(const struct object *old_object, const struct object *new_object, void *context)
{
    struct storage_protection *g = context;

    (void)old_object;
    if (new_object != NULL && object_cache_has_synced(g->cache))
        add(new_object, g);
}

/* An ended or deleted pod may have been the last one that used a claim. */
static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct storage_protection *g = context;
    const struct pod *pod;
    char key[OBJECT_KEY_SIZE];

    if (old_object != NULL)
        count_pod(g, old_object, -1);
    if (new_object != NULL)
        count_pod(g, new_object, 1);
    if (old_object == NULL || !object_cache_has_synced(g->cache)
        || (new_object != NULL && !pod_is_finished(pod_of(new_object))))
        return;
    pod = pod_of(old_object);
    for (unsigned i = 0; i < pod->spec.volumes.count; i++) {
        const struct object *claim =
            claim_key(pod, &pod->spec.volumes.items[i], key) ? find(g, key) : NULL;

        if (claim != NULL)
            add(claim, g);
    }
}

static void
on_synced(void *context)
{
    struct storage_protection *g = context;

    object_cache_visit(g->cache, &persistent_volume_claim_kind, add, g);
    object_cache_visit(g->cache, &persistent_volume_kind, add, g);
}

struct storage_protection *
storage_protection_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct storage_protection *g = xnew(struct storage_protection);

    g->client = client;
    g->cache = cache;
    g->users = map_new();
    g->queue = workqueue_new(loop, PARALLEL, work, g);
    object_cache_listen(cache, &pod_kind, on_pod, g);
    object_cache_on_synced(cache, on_synced, g);
    object_cache_listen(cache, &persistent_volume_claim_kind, on_storage, g);
    object_cache_listen(cache, &persistent_volume_kind, on_storage, g);
    return g;
}

void
storage_protection_free(struct storage_protection *g)
{
    if (g == NULL)
        return;
    workqueue_free(g->queue);
    map_free(g->users);
    free(g);
}
