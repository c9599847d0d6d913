/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/storage_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/chore.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/workqueue.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"

#define PARALLEL 4u

struct storage_guard {
    struct client *client;
    struct stock *stock;
    struct informer *claims;
    struct informer *volumes;
    struct workqueue *queue; /* of claims "NS/NAME", of volumes "NAME" */
};

/* --- who uses a claim ----------------------------------------------------- */

struct search {
    const struct object *claim;
    bool found;
};

static void
look_at_pod(const struct object *pod, void *context)
{
    struct search *s = context;
    struct arena *arena;
    const struct json *volumes;

    if (s->found || pod_is_finished(pod_of(pod))
        || strcmp(pod->meta->namespace, s->claim->meta->namespace) != 0)
        return;
    arena = arena_new(0);
    volumes = json_get_path(object_tree(pod, arena), "spec.volumes");
    for (uint32_t i = 0; i < json_count(volumes); i++) {
        const char *name = json_path_text(json_at(volumes, i),
                                          "persistentVolumeClaim.claimName");

        s->found |= name != NULL && strcmp(name, s->claim->meta->name) == 0;
    }
    arena_free(arena);
}

static bool
is_used(const struct storage_guard *g, const struct object *object)
{
    struct search s = {.claim = object};
    struct arena *arena;
    const char *phase;

    if (object->kind == &persistent_volume_claim_kind) {
        stock_visit_pods(g->stock, look_at_pod, &s);
        return s.found;
    }
    arena = arena_new(0);
    phase = json_path_text(object_tree(object, arena), "status.phase");
    s.found = phase != NULL && strcmp(phase, "Bound") == 0;
    arena_free(arena);
    return s.found;
}

/* --- letting go ----------------------------------------------------------- */

static const struct object *
find(const struct storage_guard *g, const char *key)
{
    const char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace = NULL;

    if (slash == NULL)
        return informer_find(g->volumes, NULL, key);
    namespace = xstrndup(key, (size_t)(slash - key));
    return informer_find(g->claims, namespace, slash + 1);
}

static void
work(const char *key, void *context)
{
    struct storage_guard *g = context;
    struct chore *chore = chore_begin(g->client, g->queue, key);
    const struct object *object = find(g, key);
    const char *name =
        strchr(key, '/') != NULL ? FINALIZER_CLAIM : FINALIZER_VOLUME;

    if (object != NULL && object->meta->deleted_at_us != 0
        && meta_has_finalizer(object->meta, name) && !is_used(g, object))
        chore_lift_finalizer(chore, object, name);
    chore_end(chore);
}

/* --- what makes a look due ------------------------------------------------ */

static void
add(const struct object *object, void *context)
{
    struct storage_guard *g = context;
    char key[OBJECT_KEY_SIZE];

    if (object->meta->deleted_at_us == 0)
        return;
    object_key(object, key);
    workqueue_add(g->queue, key);
}

static void
on_storage(const struct object *old_object,
           const struct object *new_object,
           void *context)
{
    struct storage_guard *g = context;

    (void)old_object;
    if (new_object != NULL && stock_has_synced(g->stock))
        add(new_object, g);
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct storage_guard *g = context;

    if (old_object != NULL && stock_has_synced(g->stock)
        && (new_object == NULL || pod_is_finished(pod_of(new_object))))
        informer_visit(g->claims, add, g);
}

static void
on_synced(void *context)
{
    struct storage_guard *g = context;

    informer_visit(g->claims, add, g);
    informer_visit(g->volumes, add, g);
}

static struct informer *
follow(struct storage_guard *g, const struct kind *kind)
{
    return informer_new(&(struct informer_settings){
        .client = g->client,
        .kind = kind,
        .changed = on_storage,
        .context = g,
    });
}

struct storage_guard *
storage_guard_new(struct loop *loop, struct client *client, struct stock *stock)
{
    struct storage_guard *g = xnew(struct storage_guard);
    struct stock_listener listener = {
        .pod_changed = on_pod,
        .synced = on_synced,
        .context = g,
    };

    g->client = client;
    g->stock = stock;
    g->queue = workqueue_new(loop, PARALLEL, work, g);
    g->claims = follow(g, &persistent_volume_claim_kind);
    g->volumes = follow(g, &persistent_volume_kind);
    stock_listen(stock, &listener);
    return g;
}

void
storage_guard_free(struct storage_guard *g)
{
    if (g == NULL)
        return;
    informer_free(g->claims);
    informer_free(g->volumes);
    workqueue_free(g->queue);
    free(g);
}
