/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/chore.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/workqueue.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct chore {
    struct client *client;
    struct workqueue *queue;
    char *key;
    unsigned calls;
    bool failed;
    int64_t again_ms; /* 0: no */
};

struct chore *
chore_begin(struct client *client, struct workqueue *queue, const char *key)
{
    struct chore *chore = xnew(struct chore);

    chore->client = client;
    chore->queue = queue;
    chore->key = xstrdup(key);
    chore->calls = 1;
    return chore;
}

void
chore_end(struct chore *chore TAKES)
{
    if (--chore->calls > 0)
        return;
    if (chore->again_ms > 0)
        workqueue_add_after(chore->queue, chore->key, chore->again_ms);
    workqueue_done(chore->queue,
                   chore->key,
                   chore->failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    free(chore->key);
    free(chore);
}

static void
on_done(const struct client_reply *reply, void *context)
{
    struct chore *chore = context;
    struct error err = {0};

    if (reply->code == 0 || (reply->code >= 400 && reply->code != 404)) {
        client_reply_error(reply, &err);
        log_debug("cleaning up '%s': %s, trying again", chore->key, err.text);
        chore->failed = true;
    }
    chore_end(chore);
}

void
chore_call(struct chore *chore,
           struct arena *arena TAKES,
           const struct client_request *request)
{
    chore->calls++;
    client_call(chore->client, arena, request, on_done, chore);
}

void
chore_delete(struct chore *chore, const struct object *object)
{
    chore_call(chore,
               NULL,
               &(struct client_request){
                   .verb = CLIENT_DELETE,
                   .kind = object->kind,
                   .namespace = object->meta->namespace,
                   .name = object->meta->name,
                   .query = "propagationPolicy=Background",
               });
}

void
chore_lift_finalizer(struct chore *chore,
                     const struct object *object,
                     const char *name)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *left = json_array(arena);

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
    chore_call(chore,
               arena,
               &(struct client_request){
                   .verb = CLIENT_MERGE_PATCH,
                   .kind = object->kind,
                   .namespace = object->meta->namespace,
                   .name = object->meta->name,
                   .body = body,
               });
}

void
chore_again_after(struct chore *chore, int64_t ms)
{
    chore->again_ms = ms;
}
