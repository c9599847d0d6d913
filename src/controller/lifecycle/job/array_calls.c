/* SPDX-License-Identifier: Apache-2.0 */
/* A pod for each element, one request each, would be a million requests for one array. Pods
 * are therefore created up to 256 in a request, which the server copies from the first after
 * that has passed every rule (decision 250), and ends are recorded as many at a time. Every
 * request names the uid of the Job: the name may be another job's by then.
 */
#include "controller/lifecycle/job/array_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_sync.h"
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

/* Returns NULL and logs if the call failed. */
static struct json *
parse_answer(const struct array_call *call, const struct client_reply *reply, struct arena *arena)
{
    struct error err = {0};

    if (reply->code == 200 && reply->text != NULL)
        return json_parse(arena, reply->text, reply->length, NULL, &err);
    client_reply_error(reply, &err);
    log_debug("elements of job '%s': %s, trying again", call->job->meta->name, err.text);
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

/* The uid keeps the call from reaching a later job of the same name. */
static struct json *
begin_body(struct arena *arena, const struct object *job)
{
    struct json *body = json_object(arena);

    json_set_string(arena, body, "uid", job->meta->uid);
    return body;
}

void
array_calls_read(struct client *client, const struct object *job, array_read_fn *done,
                 void *context)
{
    struct client_request request = request_of(job);
    struct array_call *call = begin(job, context);

    call->read = done;
    request.query = "view=record";
    client_call(client, NULL, &request, on_read, call);
}

/* ---- Ends of elements ---- */

static void
on_settled(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct array_call *call = context;
    const struct json *answer = parse_answer(call, reply, arena);

    call->settled(call->job, json_get(answer, "kept"), json_get(answer, "stale"),
                  json_get(answer, "held"), call->context);
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
    if (end->of_attempt >= 0)
        json_set_int(arena, item, "ofAttempt", end->of_attempt);
    if (end->attempt > 0)
        json_set_int(arena, item, "attempt", end->attempt);
    if (end->failures > 0)
        json_set_int(arena, item, "failures", end->failures);
    if (end->ignored > 0)
        json_set_int(arena, item, "ignored", end->ignored);
    if (end->interrupted > 0)
        json_set_int(arena, item, "interrupted", end->interrupted);
    if (end->is_too_often)
        json_set_bool(arena, item, "hold", true);
    return item;
}

void
array_calls_settle(struct client *client, const struct object *job, struct array_ends *ends,
                   array_settled_fn *done, void *context)
{
    struct arena *arena = arena_new(0);
    struct json *items = json_array(arena);
    struct client_request request = request_of(job);
    struct array_call *call = begin(job, context);
    size_t n = 0;

    list_foreach(pos, &ends->list)
    {
        struct array_end *e = container_of(pos, struct array_end, link);

        if (n++ == AT_A_TIME)
            break;
        e->is_sent = true;
        json_append(arena, items, describe(arena, e));
    }
    call->settled = done;
    request.verb = CLIENT_CREATE;
    request.body = begin_body(arena, job);
    json_set(arena, request.body, "settle", items);
    client_call(client, arena, &request, on_settled, call);
}

/* ---- Pods ---- */

struct array_make {
    struct job_sync *sync;
    unsigned n;
    struct job_plan_pod pods[];
};

/* The refused pods are in the order in which they were sent. Returns whether the
 * Job is to be synced again.
 */
static bool
refuse_listed(const struct array_make *create, const struct json *refused)
{
    const char *job = job_sync_job(create->sync)->meta->name;
    const char *words = NULL;
    bool must_retry = false;
    unsigned at = 0;

    for (uint32_t i = 0; i < json_count(refused); i++) {
        const char *name = json_get_text(json_at(refused, i), "pod");
        int64_t index, attempt;

        words = json_get_text(json_at(refused, i), "message");
        if (name == NULL || words == NULL || !job_pod_name_parse(job, name, &index, &attempt))
            continue;
        while (at < create->n && create->pods[at].index != index)
            at++;
        if (at < create->n)
            must_retry = job_sync_refuse(create->sync, create->pods[at].index,
                                         create->pods[at].attempt, words)
                         || must_retry;
    }
    if (words != NULL)
        job_sync_record_refusal(create->sync, words);
    return must_retry;
}

/* Returns whether the Job is to be synced again. */
static bool
refuse_all(const struct array_make *create, const struct client_reply *reply)
{
    struct error err = {0};
    bool must_retry = false;

    if (client_reply_error(reply, &err) == -ECANCELED)
        return true;
    for (unsigned i = 0; i < create->n; i++)
        must_retry =
            job_sync_refuse(create->sync, create->pods[i].index, create->pods[i].attempt, err.text)
            || must_retry;
    job_sync_record_refusal(create->sync, err.text);
    return must_retry;
}

static void
on_made(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct array_make *create = context;
    struct job_sync *sync = create->sync;
    struct error err = {0};
    const struct json *answer = reply->code == 200 && reply->text != NULL
                                    ? json_parse(arena, reply->text, reply->length, NULL, &err)
                                    : NULL;

    bool has_failed = true;

    if (answer != NULL)
        has_failed = refuse_listed(create, json_get(answer, "refused"));
    else
        has_failed = refuse_all(create, reply);
    free(create);
    job_sync_end_call(sync, has_failed);
}

void
array_calls_make(struct job_sync *sync, const struct job_plan_pod *pods, unsigned n)
{
    struct arena *arena = arena_new(65536);
    const struct object *job = job_sync_job(sync);
    const struct json *tree = object_tree(job, arena);
    struct json *bodies = json_array(arena);
    struct array_make *create = xmalloc(sizeof(*create) + n * sizeof(*pods));
    struct client_request request = request_of(job);

    create->sync = sync;
    create->n = n;
    memcpy(create->pods, pods, n * sizeof(*pods));
    for (unsigned i = 0; i < n; i++)
        json_append(arena, bodies, job_pod_make_of(arena, job, tree, &pods[i]));
    request.verb = CLIENT_CREATE;
    request.body = begin_body(arena, job);
    json_set(arena, request.body, "make", bodies);
    client_call(job_sync_begin_call(sync), arena, &request, on_made, create);
}
