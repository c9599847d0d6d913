/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/reconcile/object_cache.h"

#include <string.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_map.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"

#define MAX_LISTENERS 16u

enum cached {
    CACHED_NAMESPACES,
    CACHED_NODES,
    CACHED_LEASES,
    CACHED_JOBS,
    CACHED_BUDGETS,
    CACHED_PODS,
    N_CACHED,
};

struct cached_kind { /* what an informer's callbacks are about */
    struct object_cache *cache;
    enum cached which;
    struct informer *informer;
};

struct object_cache {
    struct client *client;
    struct cached_kind kinds[N_CACHED];
    struct map *owned;   /* uid to a struct object_map of its pods */
    struct map *on_node; /* node name to the same */
    struct object_cache_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_synced;
    object_cache_damaged_fn *is_damaged; /* or NULL: nothing is */
    void *damaged_context;
};

struct object_cache *
object_cache_new(struct client *client)
{
    struct object_cache *s = xnew(struct object_cache);

    s->client = client;
    s->owned = map_new();
    s->on_node = map_new();
    return s;
}

void
object_cache_ask_damaged(struct object_cache *s,
                         object_cache_damaged_fn *is_damaged,
                         void *context)
{
    s->is_damaged = is_damaged;
    s->damaged_context = context;
}

bool
object_cache_is_damaged(const struct object_cache *s,
                        const struct kind *kind,
                        const char *namespace,
                        const char *name,
                        const char *uid)
{
    return s->is_damaged != NULL
           && s->is_damaged(kind, namespace, name, uid, s->damaged_context);
}

/* A map of rolls, of borrowed objects. */
static void
free_index(struct map *index)
{
    size_t at = 0;
    void *inner;

    while (map_next(index, &at, NULL, &inner))
        object_map_free(inner);
    map_free(index);
}

void
object_cache_free(struct object_cache *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < N_CACHED; i++)
        informer_free(s->kinds[i].informer);
    free_index(s->owned);
    free_index(s->on_node);
    free(s);
}

void
object_cache_listen(struct object_cache *s,
                    const struct object_cache_listener *listener)
{
    if (s->n_listeners == MAX_LISTENERS)
        abort();
    s->listeners[s->n_listeners++] = *listener;
}

static void
index_remove(struct map *index, const char *value, const struct object *object)
{
    struct object_map *inner = value ? map_find(index, value) : NULL;

    if (inner == NULL)
        return;
    object_map_remove(inner, object->meta->namespace, object->meta->name);
    if (object_map_count(inner) == 0) {
        map_remove(index, value);
        object_map_free(inner);
    }
}

static void
index_add(struct map *index, const char *value, const struct object *object)
{
    struct object_map *inner;

    if (value == NULL)
        return;
    inner = map_find(index, value);
    if (inner == NULL) {
        inner = object_map_new();
        map_put(index, value, inner);
    }
    object_map_put(inner, object);
}

static const char *
owner_uid_of(const struct object *object)
{
    const struct owner_reference *owner =
        meta_controller_of(object->meta, &job_kind);

    return owner != NULL ? owner->uid : NULL;
}

static void
index_pod(struct object_cache *s,
          const struct object *old_object,
          const struct object *new_object)
{
    if (old_object != NULL) {
        index_remove(s->owned, owner_uid_of(old_object), old_object);
        index_remove(s->on_node,
                     pod_of(old_object)->spec.node_name,
                     old_object);
    }
    if (new_object != NULL) {
        index_add(s->owned, owner_uid_of(new_object), new_object);
        index_add(s->on_node, pod_of(new_object)->spec.node_name, new_object);
    }
}

static object_cache_change_fn *
listener_slot(const struct object_cache_listener *l, enum cached which)
{
    switch (which) {
    case CACHED_NAMESPACES:
        return l->namespace_changed;
    case CACHED_NODES:
        return l->node_changed;
    case CACHED_LEASES:
        return l->lease_changed;
    case CACHED_JOBS:
        return l->job_changed;
    case CACHED_PODS:
        return l->pod_changed;
    case CACHED_BUDGETS:
        return l->budget_changed;
    case N_CACHED:
        break;
    }
    return NULL;
}

static void
on_change(const struct object *old_object,
          const struct object *new_object,
          void *context)
{
    struct cached_kind *k = context;

    if (k->which == CACHED_PODS)
        index_pod(k->cache, old_object, new_object);
    for (unsigned i = 0; i < k->cache->n_listeners; i++) {
        const struct object_cache_listener *l = &k->cache->listeners[i];
        object_cache_change_fn *changed = listener_slot(l, k->which);

        if (changed != NULL)
            changed(old_object, new_object, l->context);
    }
}

static void
on_synced(void *context)
{
    struct cached_kind *k = context;
    struct object_cache *s = k->cache;

    if (++s->n_synced < N_CACHED)
        return;
    for (unsigned i = 0; i < s->n_listeners; i++)
        if (s->listeners[i].synced != NULL)
            s->listeners[i].synced(s->listeners[i].context);
}

static void
start_one(struct object_cache *s, enum cached which, const struct kind *kind)
{
    struct cached_kind *k = &s->kinds[which];
    struct informer_settings settings = {
        .client = s->client,
        .kind = kind,
        .namespace = which == CACHED_LEASES ? NODE_LEASE_NAMESPACE : NULL,
        .changed = on_change,
        .synced = on_synced,
        .context = k,
    };

    k->cache = s;
    k->which = which;
    k->informer = informer_new(&settings);
}

void
object_cache_start(struct object_cache *s)
{
    start_one(s, CACHED_NAMESPACES, &namespace_kind);
    start_one(s, CACHED_NODES, &node_kind);
    start_one(s, CACHED_LEASES, &lease_kind);
    start_one(s, CACHED_JOBS, &job_kind);
    start_one(s, CACHED_BUDGETS, &pod_disruption_budget_kind);
    start_one(s, CACHED_PODS, &pod_kind);
}

bool
object_cache_has_synced(const struct object_cache *s)
{
    return s->n_synced == N_CACHED;
}

static const struct object *
find(const struct object_cache *s,
     enum cached which,
     const char *namespace,
     const char *name)
{
    return informer_find(s->kinds[which].informer, namespace, name);
}

const struct object *
object_cache_find_pod(const struct object_cache *s,
                      const char *namespace,
                      const char *name)
{
    return find(s, CACHED_PODS, namespace, name);
}

const struct object *
object_cache_find_job(const struct object_cache *s,
                      const char *namespace,
                      const char *name)
{
    return find(s, CACHED_JOBS, namespace, name);
}

const struct object *
object_cache_find_node(const struct object_cache *s, const char *name)
{
    return find(s, CACHED_NODES, NULL, name);
}

const struct object *
object_cache_find_namespace(const struct object_cache *s, const char *name)
{
    return find(s, CACHED_NAMESPACES, NULL, name);
}

const struct object *
object_cache_find_budget(const struct object_cache *s, const char *key)
{
    const char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace = NULL;

    if (slash == NULL)
        return NULL;
    namespace = xstrndup(key, (size_t)(slash - key));
    return find(s, CACHED_BUDGETS, namespace, slash + 1);
}

size_t
object_cache_count_nodes(const struct object_cache *s)
{
    return informer_count(s->kinds[CACHED_NODES].informer);
}

static void
visit_index(const struct map *index,
            const char *value,
            object_cache_visit_fn *visit,
            void *context)
{
    const struct object_map *inner = map_find(index, value);
    const struct object *object = NULL;
    size_t at = 0;

    if (inner == NULL)
        return;
    while (object_map_next(inner, &at, &object))
        visit(object, context);
}

void
object_cache_visit_owned(const struct object_cache *s,
                         const char *owner_uid,
                         object_cache_visit_fn *visit,
                         void *context)
{
    visit_index(s->owned, owner_uid, visit, context);
}

void
object_cache_visit_on_node(const struct object_cache *s,
                           const char *node,
                           object_cache_visit_fn *visit,
                           void *context)
{
    visit_index(s->on_node, node, visit, context);
}

void
object_cache_visit_jobs(const struct object_cache *s,
                        object_cache_visit_fn *visit,
                        void *context)
{
    informer_visit(s->kinds[CACHED_JOBS].informer, visit, context);
}

void
object_cache_visit_pods(const struct object_cache *s,
                        object_cache_visit_fn *visit,
                        void *context)
{
    informer_visit(s->kinds[CACHED_PODS].informer, visit, context);
}

void
object_cache_visit_nodes(const struct object_cache *s,
                         object_cache_visit_fn *visit,
                         void *context)
{
    informer_visit(s->kinds[CACHED_NODES].informer, visit, context);
}

void
object_cache_visit_budgets(const struct object_cache *s,
                           object_cache_visit_fn *visit,
                           void *context)
{
    informer_visit(s->kinds[CACHED_BUDGETS].informer, visit, context);
}
