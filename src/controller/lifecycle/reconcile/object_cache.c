/* SPDX-License-Identifier: Apache-2.0 */
/* An index has one entry for most of its keys, as most Jobs have one pod and most nodes few. A
 * map of maps would cost more than the pods, so a value is the object itself until there are
 * two. Listeners are called when cache and indexes already have the change, so that what they
 * look up agrees with what they were told.
 */
#include "controller/lifecycle/reconcile/object_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_map.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"

#define MAX_LISTENERS 16u

struct change_listener {
    object_cache_change_fn *changed;
    void *context;
};

struct cached_kind { /* the context of an informer's callbacks */
    struct object_cache *cache;
    const struct kind *kind;
    struct informer *informer; /* NULL: not cached, or not started */
    struct change_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    bool is_wanted;
};

struct sync_listener {
    object_cache_synced_fn *synced;
    void *context;
};

struct object_cache {
    struct client *client;
    struct cached_kind *kinds; /* in the order of kinds[] */
    struct map *owned;         /* owner's uid to its pods: see "Indexes"
                                * below */
    struct map *on_node;       /* node name to its pods, likewise */
    struct map *prebound;      /* "NS/NAME" of a claim to the volume's name */
    struct sync_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_started;
    unsigned n_synced;
    object_cache_damaged_fn *is_damaged; /* or NULL: no object is damaged */
    void *damaged_context;
};

static struct cached_kind *
find_kind(const struct object_cache *c, const struct kind *kind)
{
    unsigned i = 0;

    while (kinds[i] != kind)
        if (++i == n_kinds)
            abort();
    return &c->kinds[i];
}

struct object_cache *
object_cache_new(struct client *client)
{
    struct object_cache *c = xnew(struct object_cache);

    c->client = client;
    c->kinds = xnew_array(struct cached_kind, n_kinds);
    for (unsigned i = 0; i < n_kinds; i++) {
        c->kinds[i].cache = c;
        c->kinds[i].kind = kinds[i];
    }
    c->prebound = map_new();
    c->owned = map_new();
    c->on_node = map_new();
    return c;
}

void
object_cache_ask_damaged(struct object_cache *c, object_cache_damaged_fn *is_damaged, void *context)
{
    c->is_damaged = is_damaged;
    c->damaged_context = context;
}

bool
object_cache_is_damaged(const struct object_cache *c, const struct kind *kind,
                        const char *namespace, const char *name, const char *uid)
{
    return c->is_damaged != NULL && c->is_damaged(kind, namespace, name, uid, c->damaged_context);
}

/* ---- Indexes ----
 *
 * A map to borrowed objects. A value is the object itself while there is only
 * one, since most jobs have one pod; otherwise it is a struct object_map of
 * several. The lowest bit of the value tells which.
 */
#define IS_SEVERAL ((uintptr_t)1)

static struct object_map *
several_of(void *value)
{
    return ((uintptr_t)value & IS_SEVERAL) != 0
               ? (struct object_map *)((uintptr_t)value & ~IS_SEVERAL)
               : NULL;
}

static void *
value_of_one(const struct object *object)
{
    return (void *)(uintptr_t)object;
}

static void
free_index(struct map *index)
{
    size_t at = 0;
    void *value;

    while (map_next(index, &at, NULL, &value))
        object_map_free(several_of(value));
    map_free(index);
}

static bool
is_same_name(const struct object *a, const struct object *b)
{
    return strcmp(a->meta->name, b->meta->name) == 0
           && strcmp(a->meta->namespace, b->meta->namespace) == 0;
}

static void
index_remove(struct map *index, const char *value, const struct object *object)
{
    void *found = value != NULL ? map_find(index, value) : NULL;
    struct object_map *several = several_of(found);

    if (found == NULL)
        return;
    if (several != NULL) {
        object_map_remove(several, object->meta->namespace, object->meta->name);
        if (object_map_count(several) > 0)
            return;
        object_map_free(several);
    } else if (!is_same_name(found, object)) {
        return;
    }
    map_remove(index, value);
}

static void
index_add(struct map *index, const char *value, const struct object *object)
{
    void *found = value != NULL ? map_find(index, value) : NULL;
    struct object_map *several = several_of(found);

    if (value == NULL)
        return;
    if (found == NULL || (several == NULL && is_same_name(found, object))) {
        map_put(index, value, value_of_one(object));
        return;
    }
    if (several == NULL) {
        several = object_map_new();
        object_map_put(several, found);
        map_put(index, value, (void *)((uintptr_t)several | IS_SEVERAL));
    }
    object_map_put(several, object);
}

static void
visit_index(const struct map *index, const char *value, object_cache_visit_fn *visit, void *context)
{
    void *found = map_find(index, value);
    const struct object_map *several = several_of(found);
    const struct object *object = NULL;
    size_t at = 0;

    if (found != NULL && several == NULL)
        visit(found, context);
    while (several != NULL && object_map_next(several, &at, &object))
        visit(object, context);
}

void
object_cache_free(struct object_cache *c)
{
    size_t at = 0;
    void *name;

    if (c == NULL)
        return;
    for (unsigned i = 0; i < n_kinds; i++)
        informer_free(c->kinds[i].informer);
    while (map_next(c->prebound, &at, NULL, &name))
        free(name);
    map_free(c->prebound);
    free(c->kinds);
    free_index(c->owned);
    free_index(c->on_node);
    free(c);
}

void
object_cache_listen(struct object_cache *c, const struct kind *kind,
                    object_cache_change_fn *changed, void *context)
{
    struct cached_kind *k = find_kind(c, kind);

    if (k->n_listeners == MAX_LISTENERS)
        abort();
    k->listeners[k->n_listeners++] = (struct change_listener){changed, context};
}

void
object_cache_on_synced(struct object_cache *c, object_cache_synced_fn *synced, void *context)
{
    if (c->n_listeners == MAX_LISTENERS)
        abort();
    c->listeners[c->n_listeners++] = (struct sync_listener){synced, context};
}

static const char *
owner_uid_of(const struct object *object)
{
    const struct owner_reference *owner = meta_controller_of(object->meta, &job_kind);

    return owner != NULL ? owner->uid : NULL;
}

static void
index_pod(struct object_cache *c, const struct object *old_object, const struct object *new_object)
{
    if (old_object != NULL) {
        index_remove(c->owned, owner_uid_of(old_object), old_object);
        index_remove(c->on_node, pod_of(old_object)->spec.node_name, old_object);
    }
    if (new_object != NULL) {
        index_add(c->owned, owner_uid_of(new_object), new_object);
        index_add(c->on_node, pod_of(new_object)->spec.node_name, new_object);
    }
}

static bool
claim_key(const struct object *volume, char out[OBJECT_KEY_SIZE])
{
    const struct object_reference *claim = persistent_volume_of(volume)->spec.claim;

    if (claim == NULL || claim->name == NULL || claim->namespace == NULL)
        return false;
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", claim->namespace, claim->name);
    return true;
}

static void
index_volume(struct object_cache *c, const struct object *old_volume,
             const struct object *new_volume)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    if (old_volume != NULL && claim_key(old_volume, key)) {
        name = map_find(c->prebound, key);
        if (name != NULL && strcmp(name, old_volume->meta->name) == 0)
            free(map_remove(c->prebound, key));
    }
    if (new_volume != NULL && claim_key(new_volume, key) && map_find(c->prebound, key) == NULL)
        map_put(c->prebound, key, xstrdup(new_volume->meta->name));
}

static void
on_change(const struct object *old_object, const struct object *new_object, void *context)
{
    struct cached_kind *k = context;

    if (k->kind == &pod_kind)
        index_pod(k->cache, old_object, new_object);
    else if (k->kind == &persistent_volume_kind)
        index_volume(k->cache, old_object, new_object);
    for (unsigned i = 0; i < k->n_listeners; i++)
        k->listeners[i].changed(old_object, new_object, k->listeners[i].context);
}

static void
on_synced(void *context)
{
    struct object_cache *c = ((struct cached_kind *)context)->cache;

    c->n_synced++;
    if (!object_cache_has_synced(c))
        return;
    for (unsigned i = 0; i < c->n_listeners; i++)
        c->listeners[i].synced(c->listeners[i].context);
}

static void
start_one(struct cached_kind *k)
{
    struct informer_settings settings = {
        .client = k->cache->client,
        .kind = k->kind,
        .namespace = k->kind == &lease_kind ? NODE_LEASE_NAMESPACE : NULL,
        .changed = on_change,
        .synced = on_synced,
        .context = k,
    };

    k->informer = informer_new(&settings);
}

/* An informer may sync before the next one starts, so all informers are counted
 * first. Pods refer to objects of other kinds, so their informer starts last.
 */
void
object_cache_start(struct object_cache *c)
{
    static const struct kind *const always[] = {
        &namespace_kind, &node_kind, &lease_kind, &job_kind, &pod_disruption_budget_kind, &pod_kind,
    };

    c->n_started = ARRAY_SIZE(always);
    for (unsigned i = 0; i < n_kinds; i++)
        c->kinds[i].is_wanted = c->kinds[i].n_listeners > 0;
    for (unsigned i = 0; i < ARRAY_SIZE(always); i++)
        find_kind(c, always[i])->is_wanted = false;
    for (unsigned i = 0; i < n_kinds; i++)
        c->n_started += c->kinds[i].is_wanted;
    for (unsigned i = 0; i < n_kinds; i++)
        if (c->kinds[i].is_wanted)
            start_one(&c->kinds[i]);
    for (unsigned i = 0; i < ARRAY_SIZE(always); i++)
        start_one(find_kind(c, always[i]));
}

bool
object_cache_has_synced(const struct object_cache *c)
{
    return c->n_started > 0 && c->n_synced == c->n_started;
}

const struct object *
object_cache_find(const struct object_cache *c, const struct kind *kind, const char *namespace,
                  const char *name)
{
    const struct informer *informer = find_kind(c, kind)->informer;

    return informer != NULL ? informer_find(informer, namespace, name) : NULL;
}

const struct object *
object_cache_find_key(const struct object_cache *c, const struct kind *kind, const char *key)
{
    const char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace = slash != NULL ? xstrndup(key, (size_t)(slash - key)) : NULL;

    return object_cache_find(c, kind, namespace, slash != NULL ? slash + 1 : key);
}

const struct object *
object_cache_find_prebound(const struct object_cache *c, const struct object *claim)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    object_key(claim, key);
    name = map_find(c->prebound, key);
    return name != NULL ? object_cache_find(c, &persistent_volume_kind, NULL, name) : NULL;
}

void
object_cache_visit_owned(const struct object_cache *c, const char *owner_uid,
                         object_cache_visit_fn *visit, void *context)
{
    visit_index(c->owned, owner_uid, visit, context);
}

void
object_cache_visit_on_node(const struct object_cache *c, const char *node,
                           object_cache_visit_fn *visit, void *context)
{
    visit_index(c->on_node, node, visit, context);
}

void
object_cache_visit(const struct object_cache *c, const struct kind *kind,
                   object_cache_visit_fn *visit, void *context)
{
    const struct informer *informer = find_kind(c, kind)->informer;

    if (informer != NULL)
        informer_visit(informer, visit, context);
}
