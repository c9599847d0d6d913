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
count(struct storage_protection *p, const char *claim, intptr_t more)
{
    intptr_t users = (intptr_t)map_find(p->users, claim) + more;

    if (users > 0)
        map_put(p->users, claim, (void *)users);
    else
        map_remove(p->users, claim);
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
count_pod(struct storage_protection *p, const struct object *object, intptr_t more)
{
    const struct pod *pod = pod_of(object);
    char key[OBJECT_KEY_SIZE], of_user[USER_KEY_SIZE];
    uid_t uid;

    if (pod_is_finished(pod))
        return;
    for (unsigned i = 0; i < pod->spec.volumes.count; i++) {
        if (!claim_key(pod, &pod->spec.volumes.items[i], key))
            continue;
        count(p, key, more);
        if (!object_owner(object, &uid))
            continue;
        key_of_user(of_user, uid, key);
        count(p, of_user, more);
    }
}

/* Only the owner's pods keep a user-owned claim: anybody may name the claim in
 * a pod.
 */
static bool
is_used(const struct storage_protection *p, const struct object *object)
{
    char key[OBJECT_KEY_SIZE], of_user[USER_KEY_SIZE];
    uid_t uid;

    if (object->kind == &persistent_volume_kind)
        return persistent_volume_is_in_phase(persistent_volume_of(object), "Bound");
    object_key(object, key);
    if (!claim_is_user_owned(object) || !object_owner(object, &uid))
        return map_find(p->users, key) != NULL;
    key_of_user(of_user, uid, key);
    return map_find(p->users, of_user) != NULL;
}

/* --- removing the finalizer ----------------------------------------------- */

static const struct object *
find(const struct storage_protection *p, const char *key)
{
    return object_cache_find_key(
        p->cache,
        strchr(key, '/') != NULL ? &persistent_volume_claim_kind : &persistent_volume_kind, key);
}

static void
work(const char *key, void *context)
{
    struct storage_protection *p = context;
    struct pending_calls *calls = pending_calls_begin(p->client, p->queue, key);
    const struct object *object = find(p, key);
    const char *name = strchr(key, '/') != NULL ? FINALIZER_CLAIM : FINALIZER_VOLUME;

    if (object != NULL && object->meta->deleted_at_us != 0 && meta_has_finalizer(object->meta, name)
        && !is_used(p, object))
        pending_calls_remove_finalizer(calls, object, name);
    pending_calls_end(calls);
}

/* --- events that queue a claim or a volume -------------------------------- */

static void
add(const struct object *object, void *context)
{
    struct storage_protection *p = context;
    char key[OBJECT_KEY_SIZE];

    if (object->meta->deleted_at_us == 0)
        return;
    object_key(object, key);
    workqueue_add(p->queue, key);
}

static void
on_storage(const struct object *old_object, const struct object *new_object, void *context)
{
    struct storage_protection *p = context;

    (void)old_object;
    if (new_object != NULL && object_cache_has_synced(p->cache))
        add(new_object, p);
}

/* An ended or deleted pod may have been the last one that used a claim. */
static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct storage_protection *p = context;
    const struct pod *pod;
    char key[OBJECT_KEY_SIZE];

    if (old_object != NULL)
        count_pod(p, old_object, -1);
    if (new_object != NULL)
        count_pod(p, new_object, 1);
    if (old_object == NULL || !object_cache_has_synced(p->cache)
        || (new_object != NULL && !pod_is_finished(pod_of(new_object))))
        return;
    pod = pod_of(old_object);
    for (unsigned i = 0; i < pod->spec.volumes.count; i++) {
        const struct object *claim =
            claim_key(pod, &pod->spec.volumes.items[i], key) ? find(p, key) : NULL;

        if (claim != NULL)
            add(claim, p);
    }
}

static void
on_synced(void *context)
{
    struct storage_protection *p = context;

    object_cache_visit(p->cache, &persistent_volume_claim_kind, add, p);
    object_cache_visit(p->cache, &persistent_volume_kind, add, p);
}

struct storage_protection *
storage_protection_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct storage_protection *p = xnew(struct storage_protection);

    p->client = client;
    p->cache = cache;
    p->users = map_new();
    p->queue = workqueue_new(loop, PARALLEL, work, p);
    object_cache_listen(cache, &pod_kind, on_pod, p);
    object_cache_on_synced(cache, on_synced, p);
    object_cache_listen(cache, &persistent_volume_claim_kind, on_storage, p);
    object_cache_listen(cache, &persistent_volume_kind, on_storage, p);
    return p;
}

void
storage_protection_free(struct storage_protection *p)
{
    if (p == NULL)
        return;
    workqueue_free(p->queue);
    map_free(p->users);
    free(p);
}
