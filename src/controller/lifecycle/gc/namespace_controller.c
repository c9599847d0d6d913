/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/namespace_controller.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/namespace.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL           64u
#define NAMESPACE_AGAIN_MS 1000

/* Keys of the one queue: "pod/NS/NAME", "namespace/NAME". */
struct namespace_controller {
    struct client *client;
    struct object_cache *cache;
    struct workqueue *queue;
};

/* ---- Pods without their Job ---- */

static bool
is_orphan(const struct namespace_controller *g, const struct object *pod)
{
    const struct owner_reference *owner =
        meta_controller_of(pod->meta, &job_kind);
    const struct object *job;

    if (owner == NULL || pod->meta->deleted_at_us != 0)
        return false;
    job = object_cache_find_job(g->cache, pod->meta->namespace, owner->name);
    return (job == NULL || strcmp(job->meta->uid, owner->uid) != 0)
           && !object_cache_is_damaged(g->cache,
                                       &job_kind,
                                       pod->meta->namespace,
                                       owner->name,
                                       owner->uid);
}

static void
work_on_pod(struct namespace_controller *g,
            struct pending_calls *calls,
            const char *namespace,
            const char *name)
{
    const struct object *pod = object_cache_find_pod(g->cache, namespace, name);

    if (pod != NULL && is_orphan(g, pod))
        pending_calls_delete(calls, pod);
}

/* ---- Terminating namespaces ---- */

static void
empty_kind(struct pending_calls *calls,
           const struct kind *kind,
           const char *namespace)
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

/* All kinds are emptied on every pass, cheap for those already empty; pods may
 * take their time, and the namespace goes when the last one is gone.
 */
static void
work_on_namespace(struct namespace_controller *g,
                  struct pending_calls *calls,
                  const char *name)
{
    const struct object_cache *cache = g->cache;
    const struct object *namespace = object_cache_find_namespace(cache, name);
    struct left_over left = {.namespace = name};

    if (namespace == NULL || namespace->meta->deleted_at_us == 0
        || namespace_of(namespace)->spec_finalizers.count == 0)
        return;
    for (unsigned i = 0; i < n_kinds; i++)
        if ((kinds[i]->flags & KIND_NAMESPACED) != 0)
            empty_kind(calls, kinds[i], name);
    object_cache_visit_pods(cache, count_left, &left);
    object_cache_visit_jobs(cache, count_left, &left);
    if (left.count == 0)
        finalize(calls, namespace);
    pending_calls_retry_after(calls, NAMESPACE_AGAIN_MS);
}

/* ---- The queue ---- */

static void
work(const char *key, void *context)
{
    struct namespace_controller *g = context;
    struct pending_calls *calls = pending_calls_begin(g->client, g->queue, key);
    CLEANUP_FREE char *copy = xstrdup(key);
    char *rest = copy;
    const char *what = strsep(&rest, "/");
    const char *first = strsep(&rest, "/");

    if (first != NULL && strcmp(what, "namespace") == 0)
        work_on_namespace(g, calls, first);
    else if (rest != NULL)
        work_on_pod(g, calls, first, rest);
    pending_calls_end(calls);
}

static void
add(struct namespace_controller *g,
    const char *what,
    const struct object *object)
{
    char object_name[OBJECT_KEY_SIZE];
    char key[OBJECT_KEY_SIZE + 16];

    object_key(object, object_name);
    snprintf(key, sizeof(key), "%s/%s", what, object_name);
    workqueue_add(g->queue, key);
}

static void
add_orphan(const struct object *pod, void *context)
{
    struct namespace_controller *g = context;

    if (is_orphan(g, pod))
        add(g, "pod", pod);
}

static void
on_job(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct namespace_controller *g = context;

    if (!object_cache_has_synced(g->cache))
        return;
    if (new_object == NULL)
        object_cache_visit_owned(g->cache,
                                 old_object->meta->uid,
                                 add_orphan,
                                 g);
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct namespace_controller *g = context;

    if (object_cache_has_synced(g->cache) && old_object == NULL)
        add_orphan(new_object, g);
}

static void
on_namespace(UNUSED const struct object *old_object,
             const struct object *new_object,
             void *context)
{
    struct namespace_controller *g = context;

    if (new_object != NULL && new_object->meta->deleted_at_us != 0)
        add(g, "namespace", new_object);
}

static void
on_synced(void *context)
{
    struct namespace_controller *g = context;

    object_cache_visit_pods(g->cache, add_orphan, g);
}

struct namespace_controller *
namespace_controller_new(struct loop *loop,
                         struct client *client,
                         struct object_cache *cache)
{
    struct namespace_controller *g = xnew(struct namespace_controller);
    struct object_cache_listener listener = {
        .pod_changed = on_pod,
        .job_changed = on_job,
        .namespace_changed = on_namespace,
        .synced = on_synced,
        .context = g,
    };

    g->client = client;
    g->cache = cache;
    g->queue = workqueue_new(loop, PARALLEL, work, g);
    object_cache_listen(cache, &listener);
    return g;
}

void
namespace_controller_free(struct namespace_controller *g)
{
    if (g == NULL)
        return;
    workqueue_free(g->queue);
    free(g);
}
