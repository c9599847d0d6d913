/* SPDX-License-Identifier: Apache-2.0 */
/* Admission charges a quota in the transaction of each create, so it is never exceeded; this
 * loop gives back what has ended. It counts from the existing objects, once, and then by their
 * changes, and what it writes is the sum and not a difference: a lost event or a kill is
 * corrected by the next count. Informers of rarely limited kinds are started when a quota
 * names such a kind.
 */
#include "controller/lifecycle/quota/quota_controller.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/quota/quota_usage.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/quota.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"

#define PARALLEL 4u
#define DELAY_MS 1000 /* many pods come and go together: count once */
#define KINDS    64u  /* kinds at most: one bit each in `limited` */

struct quota_controller {
    struct client *client;
    struct object_cache *cache;
    struct informer *others[KINDS]; /* by index in kinds[]: kinds that the
                                     * cache lacks, started when a quota
                                     * limits them */
    struct map *namespaces;         /* namespace to its first struct counted_quota */
    struct workqueue *queue;        /* "NS/NAME" */
};

/* A ResourceQuota and the usage counted for it. */
struct counted_quota {
    struct counted_quota *next; /* of the same namespace */
    char *name;
    uint64_t limited;          /* bits: indexes in kinds[] */
    struct quota_usage *usage; /* NULL until the first count */
};

/* One pass over one quota. */
struct count {
    struct quota_controller *owner;
    char *key;
    struct arena *arena;
    const struct object *quota; /* a reference */
    struct json *tree;
    struct quota_amounts amounts;
    bool failed;
};

static void
end(struct count *c)
{
    workqueue_done(c->owner->queue, c->key, c->failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    object_unref(c->quota);
    arena_free(c->arena);
    free(c->key);
    free(c);
}

/* --- the status ----------------------------------------------------------- */

static void
on_written(const struct client_reply *reply, void *context)
{
    struct count *c = context;
    struct error err = {0};

    if (reply->code != 200 && reply->code != 404) {
        client_reply_error(reply, &err);
        log_debug("counting quota '%s': %s, trying again", c->key, err.text);
        c->failed = true;
    }
    end(c);
}

/* A merge patch that turns `was` into exactly `is`. */
static struct json *
replacing(struct arena *arena, const struct json *was, const struct json *is)
{
    struct json *patch = json_dup(arena, is);

    for (uint32_t i = 0; i < json_count(was); i++)
        if (json_get(is, was->members[i].name) == NULL)
            json_set(arena, patch, was->members[i].name, json_null(arena));
    return patch;
}

static void
write_status(struct count *c)
{
    struct json *hard = json_get_path(c->tree, "spec.hard");
    const struct json *status = json_get(c->tree, "status");
    struct json *used, *body, *to;
    struct arena *arena;

    if (hard == NULL)
        hard = json_object(c->arena);
    used = quota_used(c->arena, hard, &c->amounts);
    if (json_equals(used, json_get(status, "used"))
        && json_equals(hard, json_get(status, "hard"))) {
        end(c);
        return;
    }
    arena = arena_new(0);
    body = json_object(arena);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                    c->quota->meta->resource_version);
    to = json_make_object(arena, body, "status");
    json_set(arena, to, "hard", replacing(arena, json_get(status, "hard"), hard));
    json_set(arena, to, "used", replacing(arena, json_get(status, "used"), used));
    client_call(c->owner->client, arena,
                &(struct client_request){
                    .verb = CLIENT_MERGE_PATCH,
                    .kind = &resource_quota_kind,
                    .namespace = c->quota->meta->namespace,
                    .name = c->quota->meta->name,
                    .subresource = "status",
                    .body = body,
                },
                on_written, c);
}

/* --- objects that a quota counts ------------------------------------------ */

/* The names that limit a kind: "configmaps", "count/jobs.batch", or
 * "requests.storage" for claims.
 */
static bool
is_limited(const struct json *hard, const struct kind *kind)
{
    size_t length = strlen(kind->plural);

    for (uint32_t i = 0; i < json_count(hard); i++) {
        const char *name = hard->members[i].name;
        const char *rest = name + 6;

        if (strcmp(name, kind->plural) == 0
            || (kind == &persistent_volume_claim_kind && strstr(name, "storage") != NULL))
            return true;
        if (strncmp(name, "count/", 6) == 0 && strncmp(rest, kind->plural, length) == 0
            && strcmp(rest + length + (rest[length] == '.'), kind->group) == 0)
            return true;
    }
    return false;
}

/* Pods are always included: too many resource names limit them to list here. */
static uint64_t
limited_kinds(const struct json *hard)
{
    uint64_t limited = 0;

    for (unsigned i = 0; i < n_kinds; i++)
        if (kinds[i] == &pod_kind
            || (kinds[i]->flags & KIND_NAMESPACED && is_limited(hard, kinds[i])))
            limited |= UINT64_C(1) << i;
    return limited;
}

static bool
is_of(uint64_t limited, const struct kind *kind)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (kinds[i] == kind)
            return (limited >> i & 1) != 0;
    return false;
}

static void
on_object(const struct object *old_object, const struct object *new_object, void *context)
{
    struct quota_controller *q = context;
    const struct object *object = new_object != NULL ? new_object : old_object;
    const struct counted_quota *p = map_find(q->namespaces, object->meta->namespace);

    for (; p != NULL; p = p->next) {
        char key[OBJECT_KEY_SIZE];

        if (p->usage != NULL
            && (!is_of(p->limited, object->kind)
                || !quota_usage_change(p->usage, old_object, new_object)))
            continue;
        snprintf(key, sizeof(key), "%s/%s", object->meta->namespace, p->name);
        workqueue_add_after(q->queue, key, DELAY_MS);
    }
}

/* Events and leases change often, and quotas rarely limit them, so the object
 * cache does not hold them.
 */
static bool
is_cached(const struct kind *kind)
{
    return kind->stored_as == NULL && (kind->flags & KIND_NAMESPACED)
           && !(kind->flags & (KIND_TRANSIENT | KIND_VOLATILE));
}

/* Returns false while the objects of the kind are not all listed. */
static bool
know(struct quota_controller *q, unsigned i)
{
    if (is_cached(kinds[i]))
        return object_cache_has_synced(q->cache);
    if (q->others[i] == NULL)
        q->others[i] = informer_new(&(struct informer_settings){
            .client = q->client,
            .kind = kinds[i],
            .changed = on_object,
            .context = q,
        });
    return informer_has_synced(q->others[i]);
}

static bool
know_all(struct quota_controller *q, uint64_t limited)
{
    bool all = true;

    for (unsigned i = 0; i < n_kinds; i++)
        if (limited >> i & 1)
            all = know(q, i) && all;
    return all;
}

static struct counted_quota *
find_counted(const struct quota_controller *q, const struct object *quota)
{
    struct counted_quota *p = map_find(q->namespaces, quota->meta->namespace);

    while (p != NULL && strcmp(p->name, quota->meta->name) != 0)
        p = p->next;
    return p;
}

struct first_count {
    const char *namespace;
    struct quota_usage *usage;
};

static void
count_first(const struct object *object, void *context)
{
    const struct first_count *f = context;

    if (strcmp(object->meta->namespace, f->namespace) == 0)
        quota_usage_change(f->usage, NULL, object);
}

/* Visits all existing objects once; after that on_object keeps the usage up to
 * date.
 */
static void
begin_usage(struct quota_controller *q, struct counted_quota *p, const struct object *quota)
{
    struct first_count f = {.namespace = quota->meta->namespace};

    f.usage = p->usage = quota_usage_new(quota);
    for (unsigned i = 0; i < n_kinds; i++) {
        if ((p->limited >> i & 1) == 0)
            continue;
        if (is_cached(kinds[i]))
            object_cache_visit(q->cache, kinds[i], count_first, &f);
        else
            informer_visit(q->others[i], count_first, &f);
    }
}

static void
open_post(struct quota_controller *q, const struct object *quota)
{
    struct counted_quota *p = xnew(struct counted_quota);

    p->name = xstrdup(quota->meta->name);
    p->next = map_find(q->namespaces, quota->meta->namespace);
    map_put(q->namespaces, quota->meta->namespace, p);
}

static void
free_counted(struct counted_quota *p)
{
    quota_usage_free(p->usage);
    free(p->name);
    free(p);
}

static void
close_post(struct quota_controller *q, const struct object *quota)
{
    struct counted_quota *p = find_counted(q, quota);
    struct counted_quota *first = map_find(q->namespaces, quota->meta->namespace);

    if (p == NULL)
        return;
    if (p != first) {
        while (first->next != p)
            first = first->next;
        first->next = p->next;
    } else if (p->next != NULL)
        map_put(q->namespaces, quota->meta->namespace, p->next);
    else
        map_remove(q->namespaces, quota->meta->namespace);
    free_counted(p);
}

static void
work(const char *key, void *context)
{
    struct quota_controller *q = context;
    const struct object *quota = object_cache_find_key(q->cache, &resource_quota_kind, key);
    struct counted_quota *p = quota != NULL ? find_counted(q, quota) : NULL;
    struct count *c;

    if (p == NULL) {
        workqueue_done(q->queue, key, WORKQUEUE_OK);
        return;
    }
    c = xnew(struct count);
    c->owner = q;
    c->key = xstrdup(key);
    c->arena = arena_new(0);
    c->quota = object_ref(quota);
    c->tree = object_tree(quota, c->arena);
    quota_amounts_init(&c->amounts, c->arena);
    p->limited = limited_kinds(json_get_path(c->tree, "spec.hard"));
    if (!know_all(q, p->limited)) {
        c->failed = true; /* retried until the informers have synced */
        end(c);
        return;
    }
    if (p->usage == NULL)
        begin_usage(q, p, quota);
    quota_usage_add_to(p->usage, &c->amounts);
    write_status(c);
}

/* --- events that queue a quota -------------------------------------------- */

static void
add(struct quota_controller *q, const struct object *quota)
{
    const struct counted_quota *p = find_counted(q, quota);
    char key[OBJECT_KEY_SIZE];

    object_key(quota, key);
    if (p != NULL && p->usage == NULL)
        workqueue_add(q->queue, key); /* pods wait until it is counted */
    else
        workqueue_add_after(q->queue, key, DELAY_MS);
}

/* A quota's usage depends on nothing but its spec and the counted objects, so a
 * change of its status leaves the usage valid.
 */
static bool
is_same_spec(const struct object *a, const struct object *b)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return strcmp(a->meta->uid, b->meta->uid) == 0
           && json_equals(json_get(object_tree(a, arena), "spec"),
                          json_get(object_tree(b, arena), "spec"));
}

static void
on_quota(const struct object *old_object, const struct object *new_object, void *context)
{
    struct quota_controller *q = context;

    if (old_object == NULL || new_object == NULL || !is_same_spec(old_object, new_object)) {
        if (old_object != NULL)
            close_post(q, old_object);
        if (new_object != NULL)
            open_post(q, new_object);
    }
    if (new_object != NULL)
        add(q, new_object);
}

struct quota_controller *
quota_controller_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct quota_controller *q = xnew(struct quota_controller);

    q->client = client;
    q->cache = cache;
    q->namespaces = map_new();
    q->queue = workqueue_new(loop, PARALLEL, work, q);
    object_cache_listen(cache, &resource_quota_kind, on_quota, q);
    for (unsigned i = 0; i < n_kinds; i++)
        if (is_cached(kinds[i]))
            object_cache_listen(cache, kinds[i], on_object, q);
    return q;
}

void
quota_controller_free(struct quota_controller *q)
{
    size_t at = 0;
    void *first;

    if (q == NULL)
        return;
    for (unsigned i = 0; i < KINDS; i++)
        informer_free(q->others[i]);
    workqueue_free(q->queue);
    while (map_next(q->namespaces, &at, NULL, &first))
        for (struct counted_quota *p = first, *next; p != NULL; p = next) {
            next = p->next;
            free_counted(p);
        }
    map_free(q->namespaces);
    free(q);
}
