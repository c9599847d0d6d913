/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream keeps a graph of all objects. Here nearly every object is a pod of a Job, which the
 * shared cache finds by its owner; only what remains, which is little, is indexed by the uid
 * of its owner. Pods are not even queued unless they appear without their Job, or their Job
 * goes: queueing each of a million would be most of the work of this loop.
 *
 * An owner counts as gone only if the API says so for its uid: a kind that is not served here
 * may live in another API server. And a deletion in the foreground waits for nobody but the
 * user's own objects, or a stranger's reference could keep it from ever being over.
 */
#include "controller/lifecycle/gc/garbage_collector.h"

#include <stdbool.h>
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
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL 64u
#define AGAIN_MS 1000

struct garbage_collector {
    struct client *client;
    struct object_cache *cache;
    struct workqueue *queue; /* "PLACE/NS/NAME", "PLACE/NAME"; PLACE: index
                              * in kinds[] */
    struct map *owned;       /* owner's uid to a struct map, whose names are
                              * the queue's keys of the objects that it owns,
                              * but for the pods of Jobs */
};

/* --- kinds and keys ------------------------------------------------------- */

/* Events and leases own nothing, and an owner reference of theirs is ignored.
 */
static bool
is_followed(const struct kind *kind)
{
    return kind->stored_as == NULL && !(kind->flags & (KIND_TRANSIENT | KIND_VOLATILE));
}

/* Namespaces are left out: nothing owns a namespace, and a namespace owns at
 * most nodes.
 */
static bool
owns_and_is_owned(const struct kind *kind)
{
    return is_followed(kind) && kind != &namespace_kind;
}

static unsigned
place_of(const struct kind *kind)
{
    unsigned i = 0;

    while (i < n_kinds && kinds[i] != kind)
        i++;
    return i;
}

/* Leaves out pods, since there are many; callers visit them separately where
 * they need more than the pods of one Job.
 */
static void
visit_all(const struct garbage_collector *c, object_cache_visit_fn *visit, void *context)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (owns_and_is_owned(kinds[i]) && kinds[i] != &pod_kind)
            object_cache_visit(c->cache, kinds[i], visit, context);
}

static void
visit_dependents(const struct garbage_collector *c, const struct object *owner,
                 object_cache_visit_fn *visit, void *context)
{
    visit_all(c, visit, context);
    if (owner->kind == &job_kind)
        object_cache_visit_owned(c->cache, owner->meta->uid, visit, context);
    else
        object_cache_visit(c->cache, &pod_kind, visit, context);
}

#define QUEUE_KEY_SIZE (OBJECT_KEY_SIZE + 16)

static void
queue_key(const struct object *object, char out[QUEUE_KEY_SIZE])
{
    char name[OBJECT_KEY_SIZE];

    object_key(object, name);
    snprintf(out, QUEUE_KEY_SIZE, "%u/%s", place_of(object->kind), name);
}

static void
add(struct garbage_collector *c, const struct object *object)
{
    char key[QUEUE_KEY_SIZE];

    queue_key(object, key);
    workqueue_add(c->queue, key);
}

/* --- objects by their owners ----------------------------------------------- */

static bool
is_pod_of_job_alone(const struct object *object)
{
    return object->kind == &pod_kind && object->meta->owners.count == 1
           && meta_controller_of(object->meta, &job_kind) != NULL;
}

/* Pods, Jobs and PodGroups are deleted by the thousand, and few own anything but the pods
 * of Jobs, which the cache finds. The others are found by the owner's uid, since visiting all
 * objects for each owner would take too long.
 */
static void
index_under_owner(struct garbage_collector *c, const char *uid, const char *key)
{
    struct map *owned = map_find(c->owned, uid);

    if (owned == NULL) {
        owned = map_new();
        map_put(c->owned, uid, owned);
    }
    map_put(owned, key, c);
}

static void
unindex_under_owner(struct garbage_collector *c, const char *uid, const char *key)
{
    struct map *owned = map_find(c->owned, uid);

    if (owned == NULL)
        return;
    map_remove(owned, key);
    if (map_count(owned) > 0)
        return;
    map_remove(c->owned, uid);
    map_free(owned);
}

static void
update_index(struct garbage_collector *c, const struct object *object,
             void (*update)(struct garbage_collector *, const char *, const char *))
{
    char key[QUEUE_KEY_SIZE];

    if (is_pod_of_job_alone(object))
        return;
    for (unsigned i = 0; i < object->meta->owners.count; i++) {
        const struct owner_reference *r = &object->meta->owners.items[i];

        if (r->uid == NULL)
            continue;
        queue_key(object, key);
        update(c, r->uid, key);
    }
}

static void
add_owned_by(struct garbage_collector *c, const char *uid)
{
    const struct map *owned = map_find(c->owned, uid);
    const char *key;
    size_t at = 0;
    void *value;

    while (owned != NULL && map_next(owned, &at, &key, &value))
        workqueue_add(c->queue, key);
}

static void
free_index(struct map *by_owner)
{
    size_t at = 0;
    void *owned;

    while (map_next(by_owner, &at, NULL, &owned))
        map_free(owned);
    map_free(by_owner);
}

/* --- owners --------------------------------------------------------------- */

static const struct owner_reference *
find_reference(const struct object *object, const struct object *owner)
{
    for (unsigned i = 0; i < object->meta->owners.count; i++)
        if (owner_reference_is_to(&object->meta->owners.items[i], owner->kind, owner->meta->uid))
            return &object->meta->owners.items[i];
    return NULL;
}

/* Owners of kinds that Kiln does not serve are never considered gone: they may
 * exist in another API server.
 */
static bool
is_gone(const struct garbage_collector *c, const struct object *object,
        const struct owner_reference *r)
{
    const struct kind *kind = kind_find_by_name(r->api_version, r->kind);
    const char *namespace = object->meta->namespace;
    const struct object *owner;

    if (kind == NULL || !is_followed(kind) || (kind->flags & KIND_NAMESPACED && namespace == NULL))
        return false;
    owner = object_cache_find(c->cache, kind, kind->flags & KIND_NAMESPACED ? namespace : NULL,
                              r->name);
    return (owner == NULL || strcmp(owner->meta->uid, r->uid) != 0)
           && !object_cache_is_damaged(
               c->cache, kind, kind->flags & KIND_NAMESPACED ? namespace : NULL, r->name, r->uid);
}

/* Removes the references to `forgotten`, or, if that is NULL, those to owners
 * that are gone.
 */
static void
keep_owners(struct garbage_collector *c, struct pending_calls *calls, const struct object *object,
            const struct object *forgotten)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    const struct json *all = json_get_path(object_tree(object, arena), "metadata.ownerReferences");
    struct json *left = json_array(arena);

    for (unsigned i = 0; i < object->meta->owners.count; i++) {
        const struct owner_reference *r = &object->meta->owners.items[i];
        bool goes = forgotten != NULL
                        ? owner_reference_is_to(r, forgotten->kind, forgotten->meta->uid)
                        : is_gone(c, object, r);

        if (!goes)
            json_append(arena, left, json_at(all, i));
    }
    json_set(arena, meta, "ownerReferences", json_count(left) > 0 ? left : json_null(arena));
    json_set_string(arena, meta, "resourceVersion", object->meta->resource_version);
    pending_calls_patch(calls, arena, object, NULL, body);
}

static void
work_on_dependent(struct garbage_collector *c, struct pending_calls *calls,
                  const struct object *object)
{
    unsigned gone = 0;

    for (unsigned i = 0; i < object->meta->owners.count; i++)
        gone += is_gone(c, object, &object->meta->owners.items[i]);
    if (gone == 0 || object->meta->deleted_at_us != 0)
        return;
    if (gone == object->meta->owners.count)
        pending_calls_delete(calls, object);
    else
        keep_owners(c, calls, object, NULL);
}

/* --- finalizers of owners ------------------------------------------------- */

struct dependents {
    struct garbage_collector *collector;
    struct pending_calls *calls;
    const struct object *owner;
    unsigned count;
};

static void
orphan(const struct object *object, void *context)
{
    struct dependents *d = context;

    if (find_reference(object, d->owner) == NULL)
        return;
    d->count += object_owner_is_same(object, d->owner);
    keep_owners(d->collector, d->calls, object, d->owner);
}

/* The deletion of the owner waits for dependents with blockOwnerDeletion and
 * for the owner's own pods. It never waits for objects of another user, who
 * could block the deletion for ever.
 */
static bool
is_waited_for(const struct object *owner, const struct object *object,
              const struct owner_reference *r)
{
    return object_owner_is_same(object, owner)
           && (r->block_owner_deletion || object->kind == &pod_kind);
}

static void
delete_first(const struct object *object, void *context)
{
    struct dependents *d = context;
    const struct owner_reference *r = find_reference(object, d->owner);

    if (r == NULL)
        return;
    d->count += is_waited_for(d->owner, object, r);
    if (object->meta->deleted_at_us == 0)
        pending_calls_delete(d->calls, object);
}

static void
work_on_owner(struct garbage_collector *c, struct pending_calls *calls, const struct object *object)
{
    struct dependents d = {c, calls, object, 0};
    const char *name = NULL;

    if (object->meta->deleted_at_us == 0)
        return;
    if (meta_has_finalizer(object->meta, "orphan")) {
        name = "orphan";
        visit_dependents(c, object, orphan, &d);
    } else if (meta_has_finalizer(object->meta, "foregroundDeletion")) {
        name = "foregroundDeletion";
        visit_dependents(c, object, delete_first, &d);
    } else
        return;
    if (d.count == 0)
        pending_calls_remove_finalizer(calls, object, name);
    else
        pending_calls_retry_after(calls, AGAIN_MS);
}

/* --- the queue ------------------------------------------------------------ */

static void
work(const char *key, void *context)
{
    struct garbage_collector *c = context;
    struct pending_calls *calls = pending_calls_begin(c->client, c->queue, key);
    char *name;
    const struct kind *kind = kinds[strtoul(key, &name, 10)];
    const struct object *object = object_cache_find_key(c->cache, kind, name + 1);

    if (!object_cache_has_synced(c->cache))
        pending_calls_retry_after(calls, AGAIN_MS);
    else if (object != NULL) {
        work_on_dependent(c, calls, object);
        work_on_owner(c, calls, object);
    }
    pending_calls_end(calls);
}

/* --- events that queue an object ------------------------------------------ */

/* Nearly all objects are pods of Jobs, and a Job is rarely removed before its
 * pods. So such a pod is queued only when it appears without its Job, or when
 * the Job is removed.
 */
static void
add_orphan(const struct object *pod, void *context)
{
    struct garbage_collector *c = context;

    if (is_pod_of_job_alone(pod) && is_gone(c, pod, pod->meta->owners.items))
        add(c, pod);
}

static void
add_changed(struct garbage_collector *c, const struct object *object, bool is_new)
{
    if (object->meta->deleted_at_us != 0 && object->meta->finalizers.count > 0)
        add(c, object);
    else if (!is_pod_of_job_alone(object)) {
        if (object->meta->owners.count > 0)
            add(c, object);
    } else if (is_new && object_cache_has_synced(c->cache))
        add_orphan(object, c);
}

static void
on_cache_synced(void *context)
{
    struct garbage_collector *c = context;

    object_cache_visit(c->cache, &pod_kind, add_orphan, c);
}

static void
changed(const struct object *old_object, const struct object *new_object, void *context)
{
    struct garbage_collector *c = context;

    if (old_object != NULL)
        update_index(c, old_object, unindex_under_owner);
    if (new_object != NULL) {
        update_index(c, new_object, index_under_owner);
        add_changed(c, new_object, old_object == NULL);
        return;
    }
    add_owned_by(c, old_object->meta->uid);
    if (old_object->kind == &job_kind)
        object_cache_visit_owned(c->cache, old_object->meta->uid, add_orphan, c);
}

struct garbage_collector *
garbage_collector_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct garbage_collector *c = xnew(struct garbage_collector);

    c->client = client;
    c->cache = cache;
    c->queue = workqueue_new(loop, PARALLEL, work, c);
    c->owned = map_new();
    for (unsigned i = 0; i < n_kinds; i++)
        if (owns_and_is_owned(kinds[i]))
            object_cache_listen(cache, kinds[i], changed, c);
    object_cache_on_synced(cache, on_cache_synced, c);
    return c;
}

void
garbage_collector_free(struct garbage_collector *c)
{
    if (c == NULL)
        return;
    workqueue_free(c->queue);
    free_index(c->owned);
    free(c);
}
