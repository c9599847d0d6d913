/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/garbage.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/chore.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/workqueue.h"
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
struct garbage {
    struct client *client;
    struct stock *stock;
    struct workqueue *queue;
};

/* ---- Pods without their Job ---- */

static bool
is_orphan(const struct garbage *g, const struct object *pod)
{
    const struct owner_reference *owner =
        meta_controller_of(pod->meta, &job_kind);
    const struct object *job;

    if (owner == NULL || pod->meta->deleted_at_us != 0)
        return false;
    job = stock_find_job(g->stock, pod->meta->namespace, owner->name);
    return (job == NULL || strcmp(job->meta->uid, owner->uid) != 0)
           && !stock_is_damaged(g->stock,
                                &job_kind,
                                pod->meta->namespace,
                                owner->name,
                                owner->uid);
}

static void
work_on_pod(struct garbage *g,
            struct chore *chore,
            const char *namespace,
            const char *name)
{
    const struct object *pod = stock_find_pod(g->stock, namespace, name);

    if (pod != NULL && is_orphan(g, pod))
        chore_delete(chore, pod);
}

/* ---- Terminating namespaces ---- */

static void
empty_kind(struct chore *chore, const struct kind *kind, const char *namespace)
{
    struct client_request request = {
        .verb = CLIENT_DELETE_COLLECTION,
        .kind = kind,
        .namespace = namespace,
        .query = "propagationPolicy=Background",
    };

    chore_call(chore, NULL, &request);
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
finalize(struct chore *chore, const struct object *namespace)
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
    chore_call(chore, arena, &request);
}

/* All kinds are emptied on every pass, cheap for those already empty; pods may
 * take their time, and the namespace goes when the last one is gone.
 */
static void
work_on_namespace(struct garbage *g, struct chore *chore, const char *name)
{
    const struct stock *stock = g->stock;
    const struct object *namespace = stock_find_namespace(stock, name);
    struct left_over left = {.namespace = name};

    if (namespace == NULL || namespace->meta->deleted_at_us == 0
        || namespace_of(namespace)->spec_finalizers.count == 0)
        return;
    for (unsigned i = 0; i < n_kinds; i++)
        if ((kinds[i]->flags & KIND_NAMESPACED) != 0)
            empty_kind(chore, kinds[i], name);
    stock_visit_pods(stock, count_left, &left);
    stock_visit_jobs(stock, count_left, &left);
    if (left.count == 0)
        finalize(chore, namespace);
    chore_again_after(chore, NAMESPACE_AGAIN_MS);
}

/* ---- The queue ---- */

static void
work(const char *key, void *context)
{
    struct garbage *g = context;
    struct chore *chore = chore_begin(g->client, g->queue, key);
    CLEANUP_FREE char *copy = xstrdup(key);
    char *rest = copy;
    const char *what = strsep(&rest, "/");
    const char *first = strsep(&rest, "/");

    if (first != NULL && strcmp(what, "namespace") == 0)
        work_on_namespace(g, chore, first);
    else if (rest != NULL)
        work_on_pod(g, chore, first, rest);
    chore_end(chore);
}

static void
add(struct garbage *g, const char *what, const struct object *object)
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
    struct garbage *g = context;

    if (is_orphan(g, pod))
        add(g, "pod", pod);
}

static void
on_job(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct garbage *g = context;

    if (!stock_has_synced(g->stock))
        return;
    if (new_object == NULL)
        stock_visit_owned(g->stock, old_object->meta->uid, add_orphan, g);
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct garbage *g = context;

    if (stock_has_synced(g->stock) && old_object == NULL)
        add_orphan(new_object, g);
}

static void
on_namespace(UNUSED const struct object *old_object,
             const struct object *new_object,
             void *context)
{
    struct garbage *g = context;

    if (new_object != NULL && new_object->meta->deleted_at_us != 0)
        add(g, "namespace", new_object);
}

static void
on_synced(void *context)
{
    struct garbage *g = context;

    stock_visit_pods(g->stock, add_orphan, g);
}

struct garbage *
garbage_new(struct loop *loop, struct client *client, struct stock *stock)
{
    struct garbage *g = xnew(struct garbage);
    struct stock_listener listener = {
        .pod_changed = on_pod,
        .job_changed = on_job,
        .namespace_changed = on_namespace,
        .synced = on_synced,
        .context = g,
    };

    g->client = client;
    g->stock = stock;
    g->queue = workqueue_new(loop, PARALLEL, work, g);
    stock_listen(stock, &listener);
    return g;
}

void
garbage_free(struct garbage *g)
{
    if (g == NULL)
        return;
    workqueue_free(g->queue);
    free(g);
}
