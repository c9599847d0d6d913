/* SPDX-License-Identifier: Apache-2.0 */
/* A budget is counted anew from its pods instead of being kept up to date, because which pods
 * it selects and how many there should be depends on the budget, the pods and the Jobs at
 * once. It is counted at most ten times a second, as a drain changes many of its pods in one
 * moment; in between, an eviction subtracts from the status that it finds there, in the API's
 * transaction.
 */
#include "controller/lifecycle/disruption/disruption.h"

#include <string.h>

#include "controller/lifecycle/disruption/disruption_plan.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL 16u

/* Pods change in groups, so a budget is counted at most this often. */
#define SETTLE_MS 100

struct disruption {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct workqueue *queue; /* budgets, "namespace/name" */
    struct list writings;    /* pending status writes */
};

struct disruption_write {
    struct list link;
    struct client_call *call;
    struct disruption *d;
    char *key;
};

static void
schedule_sync(struct disruption *d, const struct object *budget)
{
    char key[OBJECT_KEY_SIZE];

    object_key(budget, key);
    workqueue_add_after(d->queue, key, SETTLE_MS);
}

static void
on_budget(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    if (new_object != NULL)
        schedule_sync(context, new_object);
}

struct disruption_change {
    struct disruption *d;
    const struct object *before, *after;
};

static void
queue_if_selected(const struct object *budget, void *context)
{
    const struct disruption_change *c = context;

    if ((c->before != NULL && disruption_selects(budget, c->before))
        || (c->after != NULL && disruption_selects(budget, c->after)))
        schedule_sync(c->d, budget);
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct disruption *d = context;
    struct disruption_change c = {d, old_object, new_object};

    object_cache_visit(d->cache, &pod_disruption_budget_kind, queue_if_selected, &c);
}

static void
queue_if_of_namespace(const struct object *budget, void *context)
{
    const struct disruption_change *c = context;

    if (strcmp(budget->meta->namespace, c->after->meta->namespace) == 0)
        schedule_sync(c->d, budget);
}

/* A change of a Job may change how many pods it runs at a time. */
static void
on_job(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct disruption *d = context;
    struct disruption_change c = {.d = d, .after = new_object};

    if (new_object != NULL)
        object_cache_visit(d->cache, &pod_disruption_budget_kind, queue_if_of_namespace, &c);
}

static void
writing_free(struct disruption_write *w)
{
    list_remove(&w->link);
    free(w->key);
    free(w);
}

static void
written(const struct client_reply *reply, void *context)
{
    struct disruption_write *w = context;
    struct error err = {0};
    bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 404;

    if (has_failed)
        log_debug("the budget '%s': %s, trying again", w->key, err.text);
    workqueue_done(w->d->queue, w->key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    writing_free(w);
}

static void
write_status(struct disruption *d, const char *key, const struct object *budget,
             struct arena *arena TAKES, struct json *body)
{
    struct disruption_write *w = xnew(struct disruption_write);

    list_add_last(&d->writings, &w->link);
    w->d = d;
    w->key = xstrdup(key);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                    budget->meta->resource_version);
    w->call = client_call(d->client, arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = budget->kind,
                              .namespace = budget->meta->namespace,
                              .name = budget->meta->name,
                              .subresource = "status",
                              .body = body,
                          },
                          written, w);
}

struct counting {
    const struct disruption *d;
    const struct object *budget;
    struct disruption_counts *counts;
};

static void
count_pod(const struct object *pod, void *context)
{
    const struct counting *c = context;
    const struct owner_reference *owner;
    const struct object *job = NULL;

    if (!disruption_selects(c->budget, pod))
        return;
    owner = meta_controller_of(pod->meta, &job_kind);
    if (owner != NULL)
        job = object_cache_find(c->d->cache, &job_kind, pod->meta->namespace, owner->name);
    if (job != NULL && !meta_is_controlled_by(pod->meta, job))
        job = NULL;
    disruption_counts_add(c->counts, pod, job);
}

static void
work_on_budget(const char *key, void *context)
{
    struct disruption *d = context;
    const struct object *budget = object_cache_find_key(d->cache, &pod_disruption_budget_kind, key);
    struct counting c = {d, budget, NULL};
    struct arena *arena;
    struct json *body;
    int64_t now_us = clock_real_us(d->clock), wake_us;

    if (budget == NULL || !object_cache_has_synced(d->cache)) {
        workqueue_done(d->queue, key, WORKQUEUE_OK);
        return;
    }
    arena = arena_new(0);
    c.counts = disruption_counts_new(budget, now_us);
    object_cache_visit(d->cache, &pod_kind, count_pod, &c);
    body = disruption_plan(c.counts, arena, &wake_us);
    disruption_counts_free(c.counts);
    if (wake_us > 0)
        workqueue_add_after(d->queue, key, (wake_us - now_us) / 1000 + 1);
    if (body != NULL) {
        write_status(d, key, budget, arena, body);
        return;
    }
    arena_free(arena);
    workqueue_done(d->queue, key, WORKQUEUE_OK);
}

static void
queue_one(const struct object *budget, void *context)
{
    schedule_sync(context, budget);
}

static void
on_synced(void *context)
{
    struct disruption *d = context;

    object_cache_visit(d->cache, &pod_disruption_budget_kind, queue_one, d);
}

struct disruption *
disruption_new(struct loop *loop, struct client *client, struct object_cache *cache,
               struct clock *clock)
{
    struct disruption *d = xnew(struct disruption);

    d->client = client;
    d->cache = cache;
    d->clock = clock;
    list_init(&d->writings);
    d->queue = workqueue_new(loop, PARALLEL, work_on_budget, d);
    object_cache_listen(cache, &pod_kind, on_pod, d);
    object_cache_listen(cache, &job_kind, on_job, d);
    object_cache_listen(cache, &pod_disruption_budget_kind, on_budget, d);
    object_cache_on_synced(cache, on_synced, d);
    return d;
}

void
disruption_free(struct disruption *d)
{
    if (d == NULL)
        return;
    list_foreach_safe(link, &d->writings)
    {
        struct disruption_write *w = container_of(link, struct disruption_write, link);

        client_cancel(w->call);
        writing_free(w);
    }
    workqueue_free(d->queue);
    free(d);
}
