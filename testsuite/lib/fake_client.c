/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/lib/fake_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/loop/loop.h"

struct fake_call {
    struct client_call call; /* the first member: the client's own */
    struct list link;
    struct arena *arena;
    enum client_verb verb;
    const struct kind *kind;
    char *namespace, *name, *subresource;
    struct json *body;
    client_done_fn *done;
    void *context;
};

struct fake_watch {
    struct client_watch watch;
    struct list link;
    const struct kind *kind;
    char *namespace;
    client_event_fn *event;
    void *context;
    struct list deliveries;
};

struct delivery {
    struct list link;
    enum client_event_type type;
    const struct object *object;
    int64_t revision; /* of the change; a deleted object has an older one */
};

struct failure {
    struct list link;
    enum client_verb verb;
    char *subresource;
    int code;
    char *reason;
    char *text; /* the body of an answer that is no failure */
};

struct fake_client {
    struct client client;
    struct map *objects; /* "Kind/namespace/name" */
    struct list calls;
    struct list watches;
    struct list failures;
    int64_t revision;
    struct map *counts;
    bool watches_held;
};

static struct fake_client *
fake_of(struct client *client)
{
    return container_of(client, struct fake_client, client);
}

static char *
dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

static char *
key_of(const struct kind *kind, const char *namespace, const char *name)
{
    return xasprintf("%s/%s/%s", kind->name, namespace != NULL ? namespace : "", name);
}

/* Watches */

static void
delivery_free(struct delivery *d)
{
    list_remove(&d->link);
    object_unref(d->object);
    free(d);
}

static void
tell_watches(struct fake_client *fake, enum client_event_type type, const struct object *object)
{
    list_foreach(link, &fake->watches)
    {
        struct fake_watch *w = container_of(link, struct fake_watch, link);
        struct delivery *d;

        if (w->kind != object->kind
            || (w->namespace != NULL && strcmp(w->namespace, object->meta->namespace) != 0))
            continue;
        d = xnew(struct delivery);
        d->type = type;
        d->object = object_ref(object);
        d->revision = fake->revision;
        list_add_last(&w->deliveries, &d->link);
    }
}

static struct client_watch *
fake_watch(struct client *client, const struct client_watch_request *request,
           client_event_fn *event, void *context)
{
    struct fake_client *fake = fake_of(client);
    struct fake_watch *w = xnew(struct fake_watch);

    w->watch.client = client;
    w->kind = request->kind;
    w->namespace = dup_or_null(request->namespace);
    w->event = event;
    w->context = context;
    list_init(&w->deliveries);
    list_add_last(&fake->watches, &w->link);
    return &w->watch;
}

static void
fake_stop(struct client_watch *watch)
{
    struct fake_watch *w = container_of(watch, struct fake_watch, watch);

    list_foreach_safe(link, &w->deliveries)
        delivery_free(container_of(link, struct delivery, link));
    list_remove(&w->link);
    free(w->namespace);
    free(w);
}

/* Objects */

static void
set_meta(struct fake_client *fake, struct arena *arena, struct json *tree)
{
    struct json *meta = json_make_object(arena, tree, "metadata");

    fake->revision++;
    if (json_get_text(meta, "uid") == NULL)
        json_set(arena, meta, "uid", json_stringf(arena, "uid-%lld", (long long)fake->revision));
    json_set(arena, meta, "resourceVersion",
             json_stringf(arena, "%lld", (long long)fake->revision));
}

/* Publishes the tree; NULL when the kind refuses it. */
static const struct object *
publish(struct fake_client *fake, const struct kind *kind, struct arena *arena, struct json *tree,
        struct error *err)
{
    CLEANUP_FREE char *key = NULL;
    const struct object *object, *old;

    set_meta(fake, arena, tree);
    if (record_normalize(kind->record, arena, tree, NULL, err) < 0)
        return NULL;
    object = object_new(kind, tree);
    key = key_of(kind, object->meta->namespace, object->meta->name);
    old = map_put(fake->objects, key, (void *)(uintptr_t)object_ref(object));
    tell_watches(fake, old == NULL ? CLIENT_ADDED : CLIENT_MODIFIED, object);
    object_unref(old);
    object_unref(object);
    return object;
}

const struct object *
fake_client_put(struct fake_client *fake, const struct kind *kind, const char *json)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct json *tree = json_parse(arena, json, strlen(json), NULL, &err);
    const struct object *object = tree != NULL ? publish(fake, kind, arena, tree, &err) : NULL;

    if (object == NULL) {
        fprintf(stderr, "fake_client_put: %s: %s\n", err.text, json);
        abort();
    }
    return object;
}

const struct object *
fake_client_find(const struct fake_client *fake, const struct kind *kind, const char *namespace,
                 const char *name)
{
    CLEANUP_FREE char *key = key_of(kind, namespace, name);

    return map_find(fake->objects, key);
}

void
fake_client_remove(struct fake_client *fake, const struct kind *kind, const char *namespace,
                   const char *name)
{
    CLEANUP_FREE char *key = key_of(kind, namespace, name);
    const struct object *object = map_remove(fake->objects, key);

    if (object != NULL) {
        fake->revision++;
        tell_watches(fake, CLIENT_DELETED, object);
    }
    object_unref(object);
}

size_t
fake_client_count(const struct fake_client *fake, const struct kind *kind)
{
    size_t at = 0, count = 0;
    void *value;

    while (map_next(fake->objects, &at, NULL, &value))
        count += ((const struct object *)value)->kind == kind;
    return count;
}

/* Answers */

static void
answer(struct fake_call *c, const struct client_reply *reply)
{
    c->done(reply, c->context);
}

static void
answer_failure(struct fake_call *c, int code, const char *reason)
{
    struct status status = {.status = "Failure", .message = reason, .reason = reason, .code = code};

    answer(c, &(struct client_reply){.code = code, .status = &status});
}

static void
answer_object(struct fake_call *c, int code, const struct object *object)
{
    answer(c, &(struct client_reply){.code = code, .object = object});
}

static void
answer_list(struct fake_client *fake, struct fake_call *c)
{
    CLEANUP_FREE const struct object **objects =
        xnew_array(const struct object *, map_count(fake->objects) + 1);
    char version[32];
    size_t at = 0, count = 0;
    void *value;

    while (map_next(fake->objects, &at, NULL, &value)) {
        const struct object *object = value;

        if (object->kind == c->kind
            && (c->namespace == NULL || strcmp(c->namespace, object->meta->namespace) == 0))
            objects[count++] = object;
    }
    snprintf(version, sizeof(version), "%lld", (long long)fake->revision);
    answer(c, &(struct client_reply){
                  .code = 200,
                  .objects = objects,
                  .n_objects = count,
                  .resource_version = version,
              });
}

/* Conditions are merged by type, everything else as in a merge patch. */
static struct json *
merge_conditions(struct arena *arena, struct json *old, struct json *patch)
{
    struct json *merged = json_array(arena);

    for (uint32_t i = 0; i < json_count(old); i++) {
        const char *type = json_get_text(json_at(old, i), "type");
        bool is_replaced = false;

        for (uint32_t j = 0; j < json_count(patch); j++)
            is_replaced |= strcmp(json_get_text(json_at(patch, j), "type"), type) == 0;
        if (!is_replaced)
            json_append(arena, merged, json_at(old, i));
    }
    for (uint32_t j = 0; j < json_count(patch); j++)
        json_append(arena, merged, json_at(patch, j));
    return merged;
}

static void
do_patch(struct fake_client *fake, struct fake_call *c)
{
    const struct object *object = fake_client_find(fake, c->kind, c->namespace, c->name);
    struct json *tree, *status, *conditions;
    struct error err = {0};

    if (object == NULL) {
        answer_failure(c, 404, "NotFound");
        return;
    }
    tree = object_tree(object, c->arena);
    status = json_get(c->body, "status");
    conditions = json_get(status, "conditions");
    if (c->verb == CLIENT_STRATEGIC_PATCH && conditions != NULL)
        json_set(c->arena, status, "conditions",
                 merge_conditions(c->arena, json_get_path(tree, "status.conditions"), conditions));
    tree = json_merge(c->arena, tree, c->body);
    object = publish(fake, c->kind, c->arena, tree, &err);
    if (object == NULL)
        answer_failure(c, 422, err.text);
    else
        answer_object(c, 200, object);
}

/* Returns 0, or the code of the refusal. */
static int
check_binding(const struct fake_client *fake, const struct fake_call *c, const char *name,
              const struct json *binding)
{
    const struct object *object = fake_client_find(fake, c->kind, c->namespace, name);
    const char *node = json_path_text(binding, "target.name");
    const char *uid = json_path_text(binding, "metadata.uid");
    const struct pod *pod;

    if (object == NULL)
        return 404;
    pod = pod_of(object);
    if (pod->spec.node_name != NULL
        && (strcmp(pod->spec.node_name, node) != 0 || pod->status.allocation != NULL))
        return 409;
    return uid != NULL && strcmp(uid, object->meta->uid) != 0 ? 409 : 0;
}

static void
bind_pod(struct fake_client *fake, const struct fake_call *c, const char *name,
         const struct json *binding)
{
    const struct object *object = fake_client_find(fake, c->kind, c->namespace, name);
    struct json *tree = object_tree(object, c->arena);
    struct json *allocation = json_get(binding, "allocation");

    json_set_string(c->arena, json_make_object(c->arena, tree, "spec"), "nodeName",
                    json_path_text(binding, "target.name"));
    if (allocation != NULL)
        json_set(c->arena, json_make_object(c->arena, tree, "status"), "allocation", allocation);
    publish(fake, c->kind, c->arena, tree, NULL);
}

/* Binds the whole list, or nothing. */
static void
do_bind_group(struct fake_client *fake, struct fake_call *c)
{
    const struct json *items = json_get(c->body, "items");

    if (json_count(items) == 0 || json_count(items) > 512) {
        answer_failure(c, 400, "BadRequest");
        return;
    }
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        const char *name = json_path_text(item, "metadata.name");
        int code = check_binding(fake, c, name, item);
        struct status status = {.status = "Failure",
                                .message = "cannot be bound",
                                .reason = code == 404 ? "NotFound" : "Conflict",
                                .details.name = name,
                                .code = code};

        if (code == 0)
            continue;
        answer(c, &(struct client_reply){.code = code, .status = &status});
        return;
    }
    for (uint32_t i = 0; i < json_count(items); i++)
        bind_pod(fake, c, json_path_text(json_at(items, i), "metadata.name"), json_at(items, i));
    answer(c, &(struct client_reply){.code = 201});
}

static void
do_bind(struct fake_client *fake, struct fake_call *c)
{
    int code;

    if (c->name == NULL) {
        do_bind_group(fake, c);
        return;
    }
    code = check_binding(fake, c, c->name, c->body);
    if (code != 0) {
        answer_failure(c, code, code == 404 ? "NotFound" : "Conflict");
        return;
    }
    bind_pod(fake, c, c->name, c->body);
    answer(c, &(struct client_reply){.code = 201});
}

static void
do_write(struct fake_client *fake, struct fake_call *c)
{
    struct error err = {0};
    const struct object *object;

    if (c->namespace != NULL)
        json_set_string(c->arena, json_make_object(c->arena, c->body, "metadata"), "namespace",
                        c->namespace);
    object = publish(fake, c->kind, c->arena, c->body, &err);
    if (object == NULL)
        answer_failure(c, 422, err.text);
    else
        answer_object(c, c->verb == CLIENT_CREATE ? 201 : 200, object);
}

static void
failure_free(struct failure *f)
{
    free(f->subresource);
    free(f->reason);
    free(f->text);
    free(f);
}

static bool
do_failure(struct fake_client *fake, struct fake_call *c)
{
    list_foreach(link, &fake->failures)
    {
        struct failure *f = container_of(link, struct failure, link);

        if (f->verb != c->verb
            || strcmp(f->subresource, c->subresource != NULL ? c->subresource : "") != 0)
            continue;
        list_remove(&f->link);
        if (f->text == NULL)
            answer_failure(c, f->code, f->reason);
        else
            answer(c, &(struct client_reply){
                          .code = f->code, .text = f->text, .length = strlen(f->text)});
        failure_free(f);
        return true;
    }
    return false;
}

static bool
deliver_one(struct fake_client *fake)
{
    if (fake->watches_held)
        return false;
    list_foreach(link, &fake->watches)
    {
        struct fake_watch *w = container_of(link, struct fake_watch, link);
        struct delivery *d;
        char revision[24];

        if (list_is_empty(&w->deliveries))
            continue;
        d = container_of(w->deliveries.next, struct delivery, link);
        list_remove(&d->link);
        snprintf(revision, sizeof(revision), "%" PRId64, d->revision);
        w->event(
            &(struct client_event){
                .type = d->type,
                .object = d->object,
                .resource_version = revision,
            },
            w->context);
        object_unref(d->object);
        free(d);
        return true;
    }
    return false;
}

static void
do_call(struct fake_client *fake, struct fake_call *c)
{
    const struct object *object;

    if (do_failure(fake, c))
        return;
    switch (c->verb) {
    case CLIENT_LIST:
        answer_list(fake, c);
        return;
    case CLIENT_GET:
        object = fake_client_find(fake, c->kind, c->namespace, c->name);
        if (object == NULL)
            answer_failure(c, 404, "NotFound");
        else
            answer_object(c, 200, object);
        return;
    case CLIENT_CREATE:
        if (c->subresource != NULL && strcmp(c->subresource, "binding") == 0)
            do_bind(fake, c);
        else
            do_write(fake, c);
        return;
    case CLIENT_REPLACE:
        do_write(fake, c);
        return;
    case CLIENT_MERGE_PATCH:
    case CLIENT_STRATEGIC_PATCH:
        do_patch(fake, c);
        return;
    case CLIENT_DELETE:
        fake_client_remove(fake, c->kind, c->namespace, c->name);
        /* like the API server: events first, then the answer */
        while (deliver_one(fake))
            ;
        answer(c, &(struct client_reply){.code = 200});
        return;
    case CLIENT_JSON_PATCH:
    case CLIENT_APPLY:
    case CLIENT_DELETE_COLLECTION:
        answer_failure(c, 501, "NotImplemented");
        return;
    }
}

static void
call_free(struct fake_call *c)
{
    list_remove(&c->link);
    if (c->arena != NULL)
        arena_free(c->arena);
    free(c->namespace);
    free(c->name);
    free(c->subresource);
    free(c);
}

static char *
count_key(enum client_verb verb, const char *subresource)
{
    return xasprintf("%d/%s", verb, subresource != NULL ? subresource : "");
}

static void
answer_nobody(const struct client_reply *reply, void *context)
{
    (void)reply;
    (void)context;
}

void
fake_client_forget_callers(struct fake_client *fake)
{
    list_foreach(link, &fake->calls) container_of(link, struct fake_call, link)->done =
        answer_nobody;
}

unsigned
fake_client_calls(const struct fake_client *fake, enum client_verb verb, const char *subresource)
{
    CLEANUP_FREE char *key = count_key(verb, subresource);

    return (unsigned)(uintptr_t)map_find(fake->counts, key);
}

static struct client_call *
fake_call(struct client *client, struct arena *arena TAKES, const struct client_request *request,
          client_done_fn *done, void *context)
{
    struct fake_client *fake = fake_of(client);
    struct fake_call *c = xnew(struct fake_call);
    CLEANUP_FREE char *key = count_key(request->verb, request->subresource);

    c->call.client = client;
    c->arena = arena != NULL ? arena : arena_new(0);
    c->verb = request->verb;
    c->kind = request->kind;
    c->namespace = dup_or_null(request->namespace);
    c->name = dup_or_null(request->name);
    c->subresource = dup_or_null(request->subresource);
    c->body = request->body;
    c->done = done;
    c->context = context;
    list_add_last(&fake->calls, &c->link);
    map_put(fake->counts, key, (void *)((uintptr_t)map_find(fake->counts, key) + 1));
    return &c->call;
}

static void
fake_cancel(struct client_call *call)
{
    call_free(container_of(call, struct fake_call, call));
}

/* All calls wait until fake_client_run. */
static bool
fake_waits(struct client_call *call)
{
    (void)call;
    return true;
}

static void
fake_abandon(struct client *client)
{
    struct fake_client *fake = fake_of(client);
    struct error err = {0};
    struct list calls;

    error_set(&err, -ECANCELED, "the client ends");
    list_take_over(&calls, &fake->calls);
    while (!list_is_empty(&calls)) {
        struct fake_call *c = container_of(calls.next, struct fake_call, link);

        list_remove(&c->link);
        answer(c, &(struct client_reply){.error = &err});
        call_free(c);
    }
}

static void
fake_free(struct client *client)
{
    (void)client;
}

static const struct client_ops ops = {
    .call = fake_call,
    .cancel = fake_cancel,
    .waits = fake_waits,
    .abandon = fake_abandon,
    .watch = fake_watch,
    .stop = fake_stop,
    .free = fake_free,
};

struct fake_client *
fake_client_new(void)
{
    struct fake_client *fake = xnew(struct fake_client);

    fake->client.ops = &ops;
    fake->client.loop = loop_new();
    fake->objects = map_new();
    fake->counts = map_new();
    list_init(&fake->calls);
    list_init(&fake->watches);
    list_init(&fake->failures);
    return fake;
}

void
fake_client_free(struct fake_client *fake)
{
    size_t at = 0;
    void *value;

    list_foreach_safe(link, &fake->calls) call_free(container_of(link, struct fake_call, link));
    list_foreach_safe(link, &fake->watches)
        fake_stop(&container_of(link, struct fake_watch, link)->watch);
    list_foreach_safe(link, &fake->failures) failure_free(container_of(link, struct failure, link));
    while (map_next(fake->objects, &at, NULL, &value))
        object_unref(value);
    map_free(fake->objects);
    map_free(fake->counts);
    loop_free(fake->client.loop);
    free(fake);
}

struct client *
fake_client_client(struct fake_client *fake)
{
    return &fake->client;
}

void
fake_client_hold_watches(struct fake_client *fake, bool held)
{
    fake->watches_held = held;
}

static void
shuffle(struct list *deliveries, struct random_source *random)
{
    struct delivery *all[64];
    size_t n = 0;

    list_foreach_safe(link, deliveries)
    {
        struct delivery *d = container_of(link, struct delivery, link);

        if (n + 2 > ARRAY_SIZE(all))
            abort();
        list_remove(&d->link);
        all[n++] = d;
        if (random_below(random, 3) != 0)
            continue;
        all[n] = xnew(struct delivery);
        *all[n] = *d;
        object_ref(d->object);
        n++;
    }
    while (n > 0) {
        size_t i = (size_t)random_below(random, n);

        list_add_last(deliveries, &all[i]->link);
        all[i] = all[--n];
    }
}

void
fake_client_shuffle_watches(struct fake_client *fake, uint64_t seed)
{
    struct random_source random = {seed};

    list_foreach(link, &fake->watches)
        shuffle(&container_of(link, struct fake_watch, link)->deliveries, &random);
}

void
fake_client_visit_held(const struct fake_client *fake, fake_client_held_fn *visit, void *context)
{
    list_foreach(link, &fake->watches)
    {
        const struct fake_watch *w = container_of(link, struct fake_watch, link);

        list_foreach(at, &w->deliveries)
        {
            const struct delivery *d = container_of(at, struct delivery, link);

            visit(d->type, d->object, d->revision, context);
        }
    }
}

void
fake_client_expire_watches(struct fake_client *fake)
{
    const struct status too_old = {.code = 410};

    list_foreach_safe(link, &fake->watches)
    {
        const struct fake_watch *w = container_of(link, struct fake_watch, link);

        w->event(&(struct client_event){.type = CLIENT_ERROR, .status = &too_old}, w->context);
    }
}

static struct failure *
prepare(struct fake_client *fake, enum client_verb verb, const char *subresource, int code)
{
    struct failure *f = xnew(struct failure);

    f->verb = verb;
    f->subresource = xstrdup(subresource != NULL ? subresource : "");
    f->code = code;
    list_add_last(&fake->failures, &f->link);
    return f;
}

void
fake_client_fail(struct fake_client *fake, enum client_verb verb, const char *subresource, int code,
                 const char *reason)
{
    prepare(fake, verb, subresource, code)->reason = xstrdup(reason);
}

void
fake_client_answer(struct fake_client *fake, enum client_verb verb, const char *subresource,
                   int code, const char *text)
{
    prepare(fake, verb, subresource, code)->text = xstrdup(text);
}

void
fake_client_run(struct fake_client *fake)
{
    bool any = true;

    while (any) {
        any = deliver_one(fake);
        if (!any && !list_is_empty(&fake->calls)) {
            struct fake_call *c = container_of(fake->calls.next, struct fake_call, link);

            list_remove(&c->link);
            do_call(fake, c);
            call_free(c);
            any = true;
        }
    }
}
