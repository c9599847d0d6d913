/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/namespace_controller.h"

#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/namespace.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL 64u
#define AGAIN_MS 1000

struct namespace_controller {
    struct client *client;
    struct object_cache *cache;
    struct workqueue *queue; /* keys: names of namespaces */
};

static void
empty_kind(struct pending_calls *calls, const struct kind *kind, const char *namespace)
{
    struct client_request request = {
        .verb = CLIENT_DELETE_COLLECTION,
        .kind = kind,
        .namespace = namespace,
        .query = "propagationPolicy=Background",
    };

    pending_calls_send(calls, NULL, &request);
}

struct left_over {
    const char *namespace;
    unsigned count;
};

static void
count_left(const struct object *object, void *context)
{
    struct left_over *l = context;

    if (strcmp(object->meta->namespace, l->namespace) == 0)
        l->count++;
}

static void
finalize(struct pending_calls *calls, const struct object *namespace)
{
    struct arena *arena = arena_new(0);
    struct json *body = object_tree(namespace, arena);
    struct client_request request = {
        .verb = CLIENT_REPLACE,
        .kind = &namespace_kind,
        .name = namespace->meta->name,
        .subresource = "finalize",
        .body = body,
    };

    json_remove(json_make_object(arena, body, "spec"), "finalizers");
    pending_calls_send(calls, arena, &request);
}

/* Every pass empties all kinds, which is cheap for kinds that are empty
 * already. Pods may take a while to end; the namespace is finalized when the
 * last pod and the last Job are gone.
 */
static void
work(const char *name, void *context)
{
    struct namespace_controller *c = context;
    const struct object *namespace = object_cache_find(c->cache, &namespace_kind, NULL, name);
    struct left_over left = {.namespace = name};
    struct pending_calls *calls;

    if (namespace == NULL || namespace->meta->deleted_at_us == 0
        || namespace_of(namespace)->spec_finalizers.count == 0) {
        workqueue_done(c->queue, name, WORKQUEUE_OK);
        return;
    }
    calls = pending_calls_begin(c->client, c->queue, name);
    for (unsigned i = 0; i < n_kinds; i++)
        if ((kinds[i]->flags & KIND_NAMESPACED) != 0)
            empty_kind(calls, kinds[i], name);
    object_cache_visit(c->cache, &pod_kind, count_left, &left);
    object_cache_visit(c->cache, &job_kind, count_left, &left);
    if (left.count == 0)
        finalize(calls, namespace);
    pending_calls_retry_after(calls, AGAIN_MS);
    pending_calls_end(calls);
}

static void
on_namespace(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct namespace_controller *c = context;

    if (new_object != NULL && new_object->meta->deleted_at_us != 0)
        workqueue_add(c->queue, new_object->meta->name);
}

struct namespace_controller *
namespace_controller_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct namespace_controller *c = xnew(struct namespace_controller);

    c->client = client;
    c->cache = cache;
    c->queue = workqueue_new(loop, PARALLEL, work, c);
    object_cache_listen(cache, &namespace_kind, on_namespace, c);
    return c;
}

void
namespace_controller_free(struct namespace_controller *c)
{
    if (c == NULL)
        return;
    workqueue_free(c->queue);
    free(c);
}
