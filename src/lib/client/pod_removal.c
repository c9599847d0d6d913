/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/pod_removal.h"

#include <stdlib.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct pod_removal {
    struct client *client;
    struct client_call *call;
    client_done_fn *done;
    void *context;
    char *namespace;
    char *name;
    char *uid; /* or NULL */
    int64_t grace_s;
};

static void
pod_removal_free(struct pod_removal *removal)
{
    free(removal->namespace);
    free(removal->name);
    free(removal->uid);
    free(removal);
}

void
pod_removal_cancel(struct pod_removal *removal)
{
    if (removal == NULL)
        return;
    client_cancel(removal->call);
    pod_removal_free(removal);
}

int
pod_removal_error(const struct client_reply *reply, struct error *err)
{
    if (reply->code == 404 || reply->code == 409)
        return 0;
    return client_reply_error(reply, err);
}

static void
end(const struct client_reply *reply, void *context)
{
    struct pod_removal *removal = context;
    client_done_fn *done = removal->done;
    void *done_context = removal->context;

    pod_removal_free(removal);
    done(reply, done_context);
}

static void
call(struct pod_removal *removal, struct arena *arena TAKES, struct client_request request,
     client_done_fn *next)
{
    request.kind = &pod_kind;
    request.namespace = removal->namespace;
    request.name = removal->name;
    removal->call = client_call(removal->client, arena, &request, next, removal);
}

static void
delete_pod(struct pod_removal *removal)
{
    struct arena *arena = arena_new(512);
    struct json *body = json_object(arena);

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "DeleteOptions");
    if (removal->grace_s > 0)
        json_set_int(arena, body, "gracePeriodSeconds", removal->grace_s);
    if (removal->uid != NULL)
        json_set_string(arena, json_make_object(arena, body, "preconditions"), "uid", removal->uid);
    call(removal, arena, (struct client_request){.verb = CLIENT_DELETE, .body = body}, end);
}

static void
told(const struct client_reply *reply, void *context)
{
    if (reply->code >= 200 && reply->code < 300)
        delete_pod(context);
    else
        end(reply, context);
}

static void
mark_pod(struct pod_removal *removal, struct clock *clock, const struct pod_removal_order *order)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena), *list = json_array(arena);
    struct json *condition = json_object(arena), *status, *cause;
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(clock), false, now);
    if (removal->uid != NULL)
        json_set_string(arena, json_make_object(arena, body, "metadata"), "uid", removal->uid);
    json_set_string(arena, condition, "type", "DisruptionTarget");
    json_set_string(arena, condition, "status", "True");
    json_set_string(arena, condition, "reason", order->reason);
    json_set_string(arena, condition, "message", order->message);
    json_set_string(arena, condition, "lastTransitionTime", now);
    json_append(arena, list, condition);
    status = json_make_object(arena, body, "status");
    json_set(arena, status, "conditions", list);
    if (order->cause != NULL) {
        cause = json_make_object(arena, status, "cause");
        json_set_string(arena, cause, "code", order->cause->code);
        json_set_string(arena, cause, "message", order->cause->message);
        if (order->cause->is_final)
            json_set_bool(arena, cause, "final", true);
    }
    call(removal, arena,
         (struct client_request){
             .verb = CLIENT_STRATEGIC_PATCH,
             .subresource = "status",
             .body = body,
         },
         told);
}

struct pod_removal *
pod_removal_begin(struct client *client, struct clock *clock, const struct pod_removal_order *order,
                  client_done_fn *done, void *context)
{
    struct pod_removal *removal = xnew(struct pod_removal);

    removal->client = client;
    removal->done = done;
    removal->context = context;
    removal->namespace = xstrdup(order->namespace);
    removal->name = xstrdup(order->name);
    removal->uid = order->uid != NULL ? xstrdup(order->uid) : NULL;
    removal->grace_s = order->grace_s;
    mark_pod(removal, clock, order);
    return removal;
}
