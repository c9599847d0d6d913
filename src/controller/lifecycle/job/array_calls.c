/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/array_calls.h"

#include <stdlib.h>

#include "controller/lifecycle/job/array_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define AT_A_TIME 256

struct array_call {
    const struct object *job; /* a reference */
    array_read_fn *read;
    array_settled_fn *settled;
    void *context;
};

static struct array_call *
begin(const struct object *job, void *context)
{
    struct array_call *call = xnew(struct array_call);

    call->job = object_ref(job);
    call->context = context;
    return call;
}

static void
end(struct array_call *call)
{
    object_unref(call->job);
    free(call);
}

/* NULL, and a line in the log, when there is no answer. */
static struct json *
parse_answer(const struct array_call *call,
             const struct client_reply *reply,
             struct arena *arena)
{
    struct error err = {0};

    if (reply->code == 200 && reply->text != NULL)
        return json_parse(arena, reply->text, reply->length, NULL, &err);
    client_reply_error(reply, &err);
    log_debug("elements of job '%s': %s, trying again",
              call->job->meta->name,
              err.text);
    return NULL;
}

static void
on_read(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct array_call *call = context;

    call->read(call->job, parse_answer(call, reply, arena), call->context);
    end(call);
}

static struct client_request
request_of(const struct object *job)
{
    return (struct client_request){
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .name = job->meta->name,
        .subresource = "elements",
        .raw = true,
    };
}

void
array_calls_read(struct client *client,
                 const struct object *job,
                 array_read_fn *done,
                 void *context)
{
    struct client_request request = request_of(job);
    struct array_call *call = begin(job, context);

    call->read = done;
    request.query = "view=record";
    client_call(client, NULL, &request, on_read, call);
}

/* ---- What the elements come to ---- */

static void
on_settled(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct array_call *call = context;

    call->settled(call->job,
                  json_get(parse_answer(call, reply, arena), "kept"),
                  call->context);
    end(call);
}

static struct json *
describe(struct arena *arena, const struct array_end *end)
{
    static const char *const words[] = {
        [ARRAY_DONE] = "Done",
        [ARRAY_FAILED] = "Failed",
        [ARRAY_CANCELLED] = "Cancelled",
        [ARRAY_AGAIN] = "Again",
    };
    struct json *item = json_object(arena);

    json_set_int(arena, item, "index", end->index);
    json_set_string(arena, item, "as", words[end->outcome]);
    if (end->pod != NULL) {
        json_set_string(arena, item, "pod", end->pod);
        json_set_string(arena, item, "uid", end->uid);
    }
    if (end->attempt > 0)
        json_set_int(arena, item, "attempt", end->attempt);
    if (end->failures > 0)
        json_set_int(arena, item, "failures", end->failures);
    if (end->ignored > 0)
        json_set_int(arena, item, "ignored", end->ignored);
    return item;
}

void
array_calls_settle(struct client *client,
                   const struct object *job,
                   struct array_state *array,
                   array_settled_fn *done,
                   void *context)
{
    struct arena *arena = arena_new(0);
    struct json *items = json_array(arena);
    struct client_request request = request_of(job);
    struct array_call *call = begin(job, context);
    size_t n = 0;

    list_foreach(pos, &array->ends)
    {
        struct array_end *e = container_of(pos, struct array_end, link);

        if (n++ == AT_A_TIME)
            break;
        e->is_sent = true;
        json_append(arena, items, describe(arena, e));
    }
    call->settled = done;
    request.verb = CLIENT_CREATE;
    request.body = json_object(arena);
    json_set(arena, request.body, "settle", items);
    client_call(client, arena, &request, on_settled, call);
}
