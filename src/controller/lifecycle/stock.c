/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/stock.h"

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

enum stocked {
    STOCKED_NAMESPACES,
    STOCKED_NODES,
    STOCKED_LEASES,
    STOCKED_JOBS,
    STOCKED_BUDGETS,
    STOCKED_PODS,
    N_STOCKED,
};

struct stocked_kind { /* what an informer's callbacks are about */
    struct stock *stock;
    enum stocked which;
    struct informer *informer;
};

struct stock {
    struct client *client;
    struct stocked_kind kinds[N_STOCKED];
    struct map *owned;   /* uid to a struct object_map of its pods */
    struct map *on_node; /* node name to the same */
    struct stock_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_synced;
    stock_damaged_fn *is_damaged; /* or NULL: nothing is */
    void *damaged_context;
};

struct stock *
stock_new(struct client *client)
{
    struct stock *s = xnew(struct stock);

    s->client = client;
    s->owned = map_new();
    s->on_node = map_new();
    return s;
}

void
stock_ask_damaged(struct stock *s, stock_damaged_fn *is_damaged, void *context)
{
    s->is_damaged = is_damaged;
    s->damaged_context = context;
}

bool
stock_is_damaged(const struct stock *s,
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
stock_free(struct stock *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < N_STOCKED; i++)
        informer_free(s->kinds[i].informer);
    free_index(s->owned);
    free_index(s->on_node);
    free(s);
}

void
stock_listen(struct stock *s, const struct stock_listener *listener)
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
index_pod(struct stock *s,
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

static stock_change_fn *
listener_slot(const struct stock_listener *l, enum stocked which)
{
    switch (which) {
    case STOCKED_NAMESPACES:
        return l->namespace_changed;
    case STOCKED_NODES:
        return l->node_changed;
    case STOCKED_LEASES:
        return l->lease_changed;
    case STOCKED_JOBS:
        return l->job_changed;
    case STOCKED_PODS:
        return l->pod_changed;
    case STOCKED_BUDGETS:
        return l->budget_changed;
    case N_STOCKED:
        break;
    }
    return NULL;
}

static void
on_change(const struct object *old_object,
          const struct object *new_object,
          void *context)
{
    struct stocked_kind *k = context;

    if (k->which == STOCKED_PODS)
        index_pod(k->stock, old_object, new_object);
    for (unsigned i = 0; i < k->stock->n_listeners; i++) {
        const struct stock_listener *l = &k->stock->listeners[i];
        stock_change_fn *changed = listener_slot(l, k->which);

        if (changed != NULL)
            changed(old_object, new_object, l->context);
    }
}

static void
on_synced(void *context)
{
    struct stocked_kind *k = context;
    struct stock *s = k->stock;

    if (++s->n_synced < N_STOCKED)
        return;
    for (unsigned i = 0; i < s->n_listeners; i++)
        if (s->listeners[i].synced != NULL)
            s->listeners[i].synced(s->listeners[i].context);
}

static void
start_one(struct stock *s, enum stocked which, const struct kind *kind)
{
    struct stocked_kind *k = &s->kinds[which];
    struct informer_settings settings = {
        .client = s->client,
        .kind = kind,
        .namespace = which == STOCKED_LEASES ? NODE_LEASE_NAMESPACE : NULL,
        .changed = on_change,
        .synced = on_synced,
        .context = k,
    };

    k->stock = s;
    k->which = which;
    k->informer = informer_new(&settings);
}

void
stock_start(struct stock *s)
{
    start_one(s, STOCKED_NAMESPACES, &namespace_kind);
    start_one(s, STOCKED_NODES, &node_kind);
    start_one(s, STOCKED_LEASES, &lease_kind);
    start_one(s, STOCKED_JOBS, &job_kind);
    start_one(s, STOCKED_BUDGETS, &pod_disruption_budget_kind);
    start_one(s, STOCKED_PODS, &pod_kind);
}

bool
stock_has_synced(const struct stock *s)
{
    return s->n_synced == N_STOCKED;
}

static const struct object *
find(const struct stock *s,
     enum stocked which,
     const char *namespace,
     const char *name)
{
    return informer_find(s->kinds[which].informer, namespace, name);
}

const struct object *
stock_find_pod(const struct stock *s, const char *namespace, const char *name)
{
    return find(s, STOCKED_PODS, namespace, name);
}

const struct object *
stock_find_job(const struct stock *s, const char *namespace, const char *name)
{
    return find(s, STOCKED_JOBS, namespace, name);
}

const struct object *
stock_find_node(const struct stock *s, const char *name)
{
    return find(s, STOCKED_NODES, NULL, name);
}

const struct object *
stock_find_namespace(const struct stock *s, const char *name)
{
    return find(s, STOCKED_NAMESPACES, NULL, name);
}

const struct object *
stock_find_budget(const struct stock *s, const char *key)
{
    const char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace = NULL;

    if (slash == NULL)
        return NULL;
    namespace = xstrndup(key, (size_t)(slash - key));
    return find(s, STOCKED_BUDGETS, namespace, slash + 1);
}

size_t
stock_count_nodes(const struct stock *s)
{
    return informer_count(s->kinds[STOCKED_NODES].informer);
}

static void
visit_index(const struct map *index,
            const char *value,
            stock_visit_fn *visit,
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
stock_visit_owned(const struct stock *s,
                  const char *owner_uid,
                  stock_visit_fn *visit,
                  void *context)
{
    visit_index(s->owned, owner_uid, visit, context);
}

void
stock_visit_on_node(const struct stock *s,
                    const char *node,
                    stock_visit_fn *visit,
                    void *context)
{
    visit_index(s->on_node, node, visit, context);
}

void
stock_visit_jobs(const struct stock *s, stock_visit_fn *visit, void *context)
{
    informer_visit(s->kinds[STOCKED_JOBS].informer, visit, context);
}

void
stock_visit_pods(const struct stock *s, stock_visit_fn *visit, void *context)
{
    informer_visit(s->kinds[STOCKED_PODS].informer, visit, context);
}

void
stock_visit_nodes(const struct stock *s, stock_visit_fn *visit, void *context)
{
    informer_visit(s->kinds[STOCKED_NODES].informer, visit, context);
}

void
stock_visit_budgets(const struct stock *s, stock_visit_fn *visit, void *context)
{
    informer_visit(s->kinds[STOCKED_BUDGETS].informer, visit, context);
}
