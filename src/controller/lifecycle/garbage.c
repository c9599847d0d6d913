/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/garbage.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/workqueue.h"
#include "lib/api/job.h"
#include "lib/api/kind.h"
#include "lib/api/namespace.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL           64u
#define NAMESPACE_AGAIN_MS 1000

/* Keys of the one queue: "pod/NS/NAME", "job/NS/NAME", "namespace/NAME". */
struct garbage {
    struct client *client;
    struct stock *stock;
    struct workqueue *queue;
};

struct pass {
    struct garbage *garbage;
    char *key;
    unsigned calls;
    bool failed;
    bool again;
};

static void
end_call(struct pass *pass)
{
    struct garbage *g = pass->garbage;

    if (--pass->calls > 0)
        return;
    if (pass->again)
        workqueue_add_after(g->queue, pass->key, NAMESPACE_AGAIN_MS);
    workqueue_done(g->queue,
                   pass->key,
                   pass->failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    free(pass->key);
    free(pass);
}

static void
on_done(const struct client_reply *reply, void *context)
{
    struct pass *pass = context;
    struct error err = {0};

    if (reply->code == 0 || (reply->code >= 400 && reply->code != 404)) {
        client_reply_error(reply, &err);
        log_debug("cleaning up '%s': %s, trying again", pass->key, err.text);
        pass->failed = true;
    }
    end_call(pass);
}

static void
call(struct pass *pass,
     struct arena *arena TAKES,
     const struct client_request *request)
{
    pass->calls++;
    client_call(pass->garbage->client, arena, request, on_done, pass);
}

static void
delete_object(struct pass *pass, const struct object *object)
{
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = object->kind,
        .namespace = object->meta->namespace,
        .name = object->meta->name,
        .query = "propagationPolicy=Background",
    };

    call(pass, NULL, &request);
}

/* ---- Pods without their Job ---- */

static bool
is_orphan(const struct garbage *g, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller(pod->meta);
    const struct object *job;

    if (owner == NULL || strcmp(owner->kind, job_kind.name) != 0
        || pod->meta->deleted_at_us != 0)
        return false;
    job = stock_find_job(g->stock, pod->meta->namespace, owner->name);
    return job == NULL || strcmp(job->meta->uid, owner->uid) != 0;
}

static void
work_on_pod(struct pass *pass, const char *namespace, const char *name)
{
    const struct object *pod =
        stock_find_pod(pass->garbage->stock, namespace, name);

    if (pod != NULL && is_orphan(pass->garbage, pod))
        delete_object(pass, pod);
}

/* ---- Finalizers of Jobs ---- */

static bool
has_finalizer(const struct object *object, const char *name)
{
    for (unsigned i = 0; i < object->meta->finalizers.count; i++)
        if (strcmp(object->meta->finalizers.items[i], name) == 0)
            return true;
    return false;
}

static void
lift_finalizer(struct pass *pass, const struct object *object, const char *name)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *left = json_array(arena);
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = object->kind,
        .namespace = object->meta->namespace,
        .name = object->meta->name,
        .body = body,
    };

    for (unsigned i = 0; i < object->meta->finalizers.count; i++)
        if (strcmp(object->meta->finalizers.items[i], name) != 0)
            json_append(arena,
                        left,
                        json_string(arena, object->meta->finalizers.items[i]));
    json_set(arena, meta, "finalizers", left);
    json_set_string(arena,
                    meta,
                    "resourceVersion",
                    object->meta->resource_version);
    call(pass, arena, &request);
}

struct dependents {
    struct pass *pass;
    unsigned count;
};

static void
orphan_pod(const struct object *pod, void *context)
{
    struct dependents *d = context;
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_kind,
        .namespace = pod->meta->namespace,
        .name = pod->meta->name,
        .body = body,
    };

    d->count++;
    json_set(arena,
             json_make_object(arena, body, "metadata"),
             "ownerReferences",
             json_null(arena));
    call(d->pass, arena, &request);
}

static void
delete_dependent(const struct object *pod, void *context)
{
    struct dependents *d = context;

    d->count++;
    if (pod->meta->deleted_at_us == 0)
        delete_object(d->pass, pod);
}

static void
work_on_job(struct pass *pass, const char *namespace, const char *name)
{
    const struct stock *stock = pass->garbage->stock;
    const struct object *job = stock_find_job(stock, namespace, name);
    struct dependents d = {.pass = pass};

    if (job == NULL || job->meta->deleted_at_us == 0)
        return;
    if (has_finalizer(job, "orphan")) {
        stock_visit_owned(stock, job->meta->uid, orphan_pod, &d);
        if (d.count == 0)
            lift_finalizer(pass, job, "orphan");
        pass->again = d.count > 0;
    } else if (has_finalizer(job, "foregroundDeletion")) {
        stock_visit_owned(stock, job->meta->uid, delete_dependent, &d);
        if (d.count == 0)
            lift_finalizer(pass, job, "foregroundDeletion");
    }
}

/* ---- Terminating namespaces ---- */

static void
empty_kind(struct pass *pass, const struct kind *kind, const char *namespace)
{
    struct client_request request = {
        .verb = CLIENT_DELETE_COLLECTION,
        .kind = kind,
        .namespace = namespace,
        .query = "propagationPolicy=Background",
    };

    call(pass, NULL, &request);
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
finalize(struct pass *pass, const struct object *namespace)
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
    call(pass, arena, &request);
}

/* All kinds are emptied on every pass, cheap for those already empty; pods may
 * take their time, and the namespace goes when the last one is gone.
 */
static void
work_on_namespace(struct pass *pass, const char *name)
{
    const struct stock *stock = pass->garbage->stock;
    const struct object *namespace = stock_find_namespace(stock, name);
    struct left_over left = {.namespace = name};

    if (namespace == NULL || namespace->meta->deleted_at_us == 0
        || namespace_of(namespace)->spec_finalizers.count == 0)
        return;
    for (unsigned i = 0; i < n_kinds; i++)
        if ((kinds[i]->flags & KIND_NAMESPACED) != 0)
            empty_kind(pass, kinds[i], name);
    stock_visit_pods(stock, count_left, &left);
    stock_visit_jobs(stock, count_left, &left);
    if (left.count == 0)
        finalize(pass, namespace);
    pass->again = true;
}

/* ---- The queue ---- */

static void
work(const char *key, void *context)
{
    struct garbage *g = context;
    struct pass *pass = xnew(struct pass);
    CLEANUP_FREE char *copy = xstrdup(key);
    char *rest = copy;
    const char *what = strsep(&rest, "/");
    const char *first = strsep(&rest, "/");

    pass->garbage = g;
    pass->key = xstrdup(key);
    pass->calls = 1;
    if (first != NULL && strcmp(what, "namespace") == 0)
        work_on_namespace(pass, first);
    else if (rest != NULL && strcmp(what, "pod") == 0)
        work_on_pod(pass, first, rest);
    else if (rest != NULL)
        work_on_job(pass, first, rest);
    end_call(pass);
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
    else if (new_object->meta->deleted_at_us != 0)
        add(g, "job", new_object);
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct garbage *g = context;
    const struct owner_reference *owner;
    const struct object *job;

    if (!stock_has_synced(g->stock))
        return;
    if (new_object != NULL) {
        if (old_object == NULL)
            add_orphan(new_object, g);
        return;
    }
    owner = meta_controller(old_object->meta);
    if (owner == NULL)
        return;
    job = stock_find_job(g->stock, old_object->meta->namespace, owner->name);
    if (job != NULL && job->meta->deleted_at_us != 0)
        add(g, "job", job);
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
add_deleted_job(const struct object *job, void *context)
{
    if (job->meta->deleted_at_us != 0)
        add(context, "job", job);
}

static void
on_synced(void *context)
{
    struct garbage *g = context;

    stock_visit_pods(g->stock, add_orphan, g);
    stock_visit_jobs(g->stock, add_deleted_job, g);
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
