/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/client/answer_reader.h"
#include "lib/client/api_path.h"
#include "lib/client/remote_reports.h"
#include "lib/client/remote_watch.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"

#define MAX_WARNINGS 32

struct remote_call {
    struct client_call base;
    struct list place;
    const struct kind *kind;
    bool is_raw;
    struct http_call *http;
    struct remote_report *report; /* used instead of `http` for a report */
    client_data_fn *data;
    void *data_context;
    client_done_fn *done;
    void *context;
};

static enum http_method
method_of(enum client_verb verb)
{
    switch (verb) {
    case CLIENT_GET:
    case CLIENT_LIST:
        return HTTP_GET;
    case CLIENT_CREATE:
        return HTTP_POST;
    case CLIENT_REPLACE:
        return HTTP_PUT;
    case CLIENT_MERGE_PATCH:
    case CLIENT_STRATEGIC_PATCH:
    case CLIENT_JSON_PATCH:
    case CLIENT_APPLY:
        return HTTP_PATCH;
    case CLIENT_DELETE:
    case CLIENT_DELETE_COLLECTION:
        return HTTP_DELETE;
    }
    abort();
}

static const char *
content_type_of(enum client_verb verb)
{
    switch (verb) {
    case CLIENT_MERGE_PATCH:
        return "application/merge-patch+json";
    case CLIENT_STRATEGIC_PATCH:
        return "application/strategic-merge-patch+json";
    case CLIENT_JSON_PATCH:
        return "application/json-patch+json";
    case CLIENT_APPLY:
        return "application/apply-patch+yaml";
    default:
        return "application/json";
    }
}

/* Replies */

/* Warning: 299 - "text". Returns a copy of the text in the arena. */
static const char *
warning_text(struct arena *arena, const char *header)
{
    const char *open = strchr(header, '"');
    const char *close = strrchr(header, '"');
    char *text;
    size_t n = 0;

    if (open == NULL || close == open)
        return arena_strdup(arena, header);
    text = arena_strndup(arena, open + 1, (size_t)(close - open - 1));
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\\' && p[1] != '\0')
            p++;
        text[n++] = *p;
    }
    text[n] = '\0';
    return text;
}

static const char *const *
warnings_of(struct arena *arena, const struct http_response *answer)
{
    const char **texts = NULL;
    size_t n = 0;

    for (size_t i = 0; i < answer->n_headers && n < MAX_WARNINGS; i++) {
        if (strcasecmp(answer->headers[i].name, "Warning") != 0)
            continue;
        if (texts == NULL)
            texts = arena_new_array(arena, const char *, MAX_WARNINGS + 1);
        texts[n++] = warning_text(arena, answer->headers[i].value);
    }
    return texts;
}

static void
fill_reply(struct client_reply *reply, const struct answer_reader *reading)
{
    if (reading->has_status)
        reply->status = &reading->status;
    reply->object = reading->object;
    reply->objects = reading->objects;
    reply->n_objects = reading->n_objects;
    reply->resource_version = reading->resource_version;
    reply->continue_token = reading->continue_token;
}

static bool
is_json(const struct http_response *answer)
{
    static const char json[] = "application/json";

    return strncasecmp(answer->content_type, json, sizeof(json) - 1) == 0;
}

/* A failure that is no Status (a proxy's page) still has its HTTP status as
 * code.
 */
static void
call_answered(struct remote_call *call, const struct http_response *answer)
{
    const bool succeeded = answer->status >= 200 && answer->status < 300;
    CLEANUP_ANSWER_READER struct answer_reader reading = {0};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct client_reply reply = {
        .code = answer->status,
        .text = answer->body,
        .length = answer->length,
        .warnings = warnings_of(arena, answer),
    };
    int r = 0;

    if (is_json(answer) && !(call->is_raw && succeeded)) {
        r = answer_reader_read(call->kind, answer->body, answer->length, &reading, &err);
        if (r == 0)
            fill_reply(&reply, &reading);
    }
    if (r < 0 && succeeded) {
        error_wrap(&err, r, "the server's answer cannot be read");
        reply = (struct client_reply){.error = &err};
    }
    call->done(&reply, call->context);
}

static void
call_free(struct remote_call *call)
{
    list_remove(&call->place);
    free(call);
}

static void
call_done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct remote_call *call = arg;

    if (answer != NULL)
        call_answered(call, answer);
    else
        call->done(&(struct client_reply){.error = err}, call->context);
    call_free(call);
}

static void
call_data(const void *bytes, size_t length, void *arg)
{
    const struct remote_call *call = arg;

    call->data(bytes, length, call->data_context);
}

static void
report_answered(const struct client_reply *reply, void *arg)
{
    struct remote_call *call = arg;

    call->done(reply, call->context);
    call_free(call);
}

/* Calls */

static struct remote_call *
call_new(struct remote *remote, const struct client_request *request, client_done_fn *done,
         void *context)
{
    struct remote_call *call = xnew(struct remote_call);

    call->base.client = &remote->base;
    call->kind = request->kind;
    call->is_raw = request->raw || request->accept != NULL;
    call->data = request->data;
    call->data_context = request->data_context;
    call->done = done;
    call->context = context;
    list_add_last(&remote->calls, &call->place);
    return call;
}

static struct client_call *
call_as_report(struct remote *remote, struct remote_call *call, struct arena *arena TAKES,
               const struct client_request *request)
{
    if (remote->reports == NULL)
        remote->reports = remote_reports_new(remote->http);
    call->report = remote_reports_send(remote->reports, request, report_answered, call);
    arena_free(arena);
    return &call->base;
}

static struct client_call *
remote_call(struct client *client, struct arena *arena TAKES, const struct client_request *request,
            client_done_fn *done, void *context)
{
    struct remote *remote = remote_of(client);
    struct remote_call *call = call_new(remote, request, done, context);
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    const struct http_header headers[] = {
        {"Accept", request->accept != NULL ? request->accept : "application/json"},
        {"Idempotency-Key", request->submission_key},
    };
    struct http_client_request question = {
        .method = method_of(request->verb),
        .headers = headers,
        .n_headers = request->submission_key != NULL ? 2 : 1,
        .is_repeatable = request->submission_key != NULL,
        .data = request->data != NULL ? call_data : NULL,
        .done = call_done,
        .arg = call,
    };

    if (request->is_report)
        return call_as_report(remote, call, arena, request);
    api_path_of_request(request, &target);
    question.target = target.text;
    if (request->body != NULL) {
        json_print(request->body, &body);
        question.content_type = content_type_of(request->verb);
        question.body = body.text;
        question.length = body.length;
    }
    call->http = http_client_call(remote->http, &question);
    arena_free(arena);
    return &call->base;
}

static void
end_request(struct remote_call *call)
{
    if (call->report != NULL)
        remote_report_cancel(call->report);
    else
        http_call_cancel(call->http);
}

static void
remote_cancel(struct client_call *base)
{
    struct remote_call *call = container_of(base, struct remote_call, base);

    end_request(call);
    call_free(call);
}

static bool
remote_waits(struct client_call *base)
{
    const struct remote_call *call = container_of(base, struct remote_call, base);

    return call->report != NULL && remote_report_waits(call->report);
}

static void
remote_abandon(struct client *client)
{
    struct remote *remote = remote_of(client);
    struct error err = {0};
    struct list calls;

    error_set(&err, -ECANCELED, "the client is closing");
    list_take_over(&calls, &remote->calls);
    while (!list_is_empty(&calls)) {
        struct remote_call *call = container_of(calls.next, struct remote_call, place);

        list_remove(&call->place);
        end_request(call);
        call_done(NULL, &err, call);
    }
}

/* Life */

static void
remote_free(struct client *client)
{
    struct remote *remote = remote_of(client);

    list_foreach_safe(place, &remote->calls)
        remote_cancel(&container_of(place, struct remote_call, place)->base);
    remote_reports_free(remote->reports);
    remote_watch_stop_all(remote);
    free(remote);
}

struct client *
remote_client_new(struct loop *loop, struct http_client *http)
{
    static const struct client_ops ops = {
        .call = remote_call,
        .cancel = remote_cancel,
        .waits = remote_waits,
        .abandon = remote_abandon,
        .watch = remote_watch_start,
        .stop = remote_watch_stop,
        .free = remote_free,
    };
    struct remote *remote = xnew(struct remote);

    remote->base.ops = &ops;
    remote->base.loop = loop;
    remote->http = http;
    list_init(&remote->calls);
    list_init(&remote->watches);
    return &remote->base;
}
