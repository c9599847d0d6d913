/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/reconcile/pending_calls.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct pending_calls {
    struct client *client;
    struct workqueue *queue;
    char *key;
    unsigned n_open; /* calls not answered, plus 1 until pending_calls_end */
    bool failed;
    int64_t again_ms; /* 0: do not add the key again */
};

struct pending_calls *
pending_calls_begin(struct client *client, struct workqueue *queue, const char *key)
{
    struct pending_calls *calls = xnew(struct pending_calls);

    calls->client = client;
    calls->queue = queue;
    calls->key = xstrdup(key);
    calls->n_open = 1;
    return calls;
}

void
pending_calls_end(struct pending_calls *calls TAKES)
{
    if (--calls->n_open > 0)
        return;
    if (calls->again_ms > 0)
        workqueue_add_after(calls->queue, calls->key, calls->again_ms);
    workqueue_done(calls->queue, calls->key, calls->failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    free(calls->key);
    free(calls);
}

static void
on_done(const struct client_reply *reply, void *context)
{
    struct pending_calls *calls = context;
    struct error err = {0};

    if (reply->code == 0 || (reply->code >= 400 && reply->code != 404)) {
        client_reply_error(reply, &err);
        log_debug("'%s': %s, trying again", calls->key, err.text);
        calls->failed = true;
    }
    pending_calls_end(calls);
}

void
pending_calls_send(struct pending_calls *calls, struct arena *arena TAKES,
                   const struct client_request *request)
{
    calls->n_open++;
    client_call(calls->client, arena, request, on_done, calls);
}

void
pending_calls_delete(struct pending_calls *calls, const struct object *object)
{
    pending_calls_send(calls, NULL,
                       &(struct client_request){
                           .verb = CLIENT_DELETE,
                           .kind = object->kind,
                           .namespace = object->meta->namespace,
                           .name = object->meta->name,
                           .query = "propagationPolicy=Background",
                       });
}

void
pending_calls_patch(struct pending_calls *calls, struct arena *arena TAKES,
                    const struct object *object, const char *subresource, struct json *body)
{
    pending_calls_send(calls, arena,
                       &(struct client_request){
                           .verb = CLIENT_MERGE_PATCH,
                           .kind = object->kind,
                           .namespace = object->meta->namespace,
                           .name = object->meta->name,
                           .subresource = subresource,
                           .body = body,
                       });
}

void
pending_calls_patch_seen(struct pending_calls *calls, struct arena *arena TAKES,
                         const struct object *object, const char *subresource, struct json *body)
{
    json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                    object->meta->resource_version);
    pending_calls_patch(calls, arena, object, subresource, body);
}

void
pending_calls_remove_finalizer(struct pending_calls *calls, const struct object *object,
                               const char *name)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *left = json_array(arena);

    for (unsigned i = 0; i < object->meta->finalizers.count; i++)
        if (strcmp(object->meta->finalizers.items[i], name) != 0)
            json_append(arena, left, json_string(arena, object->meta->finalizers.items[i]));
    json_set(arena, meta, "finalizers", left);
    pending_calls_patch_seen(calls, arena, object, NULL, body);
}

void
pending_calls_retry_after(struct pending_calls *calls, int64_t ms)
{
    calls->again_ms = ms;
}
