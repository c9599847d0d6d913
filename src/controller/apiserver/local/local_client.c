/* SPDX-License-Identifier: Apache-2.0 */
/* local_client.c - the API for components of the controller itself: the same
 * requests, without HTTP and without text
 *
 * A call is posted to the API's loop by loop_post, with its arena, and is
 * posted back with references to the objects. A watch is a feed on the API's
 * thread and a bounded buffer between the two threads; when the buffer
 * overflows, the watch ends with a 410, and its informer lists again.
 *
 * Thread:  each struct says which. Members that both threads use are protected
 *          by a lock, or are handed over whole.
 */
#include "controller/apiserver/local/local_client.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/http/render.h"
#include "controller/apiserver/local/local_client_state.h"
#include "controller/apiserver/local/local_query.h"
#include "controller/apiserver/local/mailbox.h"
#include "controller/apiserver/local/on_behalf.h"
#include "controller/apiserver/request/accept.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/responder.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/verbs/verbs.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/api/object_owner.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"

/* Handed to the API's thread and back. */
struct local_call {
    struct client_call call;
    struct list link; /* used by the client's thread only */
    struct mailbox *mailbox;
    struct request *q;
    client_done_fn *done; /* NULL: cancelled; used by the client's thread only
                           */
    void *context;
    const struct parameter *parameters;
    size_t n_parameters;
    bool is_on_behalf; /* of the user `uid` */
    uid_t uid;
    bool is_text; /* the reply is wanted as text */
    const char *accept;
    const char *text;
    size_t length;
};

/* Calls */

static void
call_free(struct local_call *call)
{
    request_free(call->q);
    mailbox_unref(call->mailbox);
    free(call);
}

static void
abandon_call(void *arg)
{
    call_free(arg);
}

static void
fill_reply(const struct local_call *call, struct client_reply *reply, struct status *status,
           char revision[24])
{
    const struct reply *r = &call->q->reply;

    reply->code = r->code;
    reply->object = r->object;
    reply->objects = r->objects;
    reply->n_objects = r->n_objects;
    reply->continue_token = r->continue_token;
    reply->warnings = r->n_warnings > 0 ? r->warnings : NULL;
    reply->text = call->text;
    reply->length = call->length;
    if (r->form == REPLY_LIST) {
        snprintf(revision, 24, "%" PRId64, r->revision);
        reply->resource_version = revision;
    }
    if (r->code >= 400 && r->form == REPLY_TREE) {
        record_decode(&status_record, call->q->arena, r->tree, status);
        reply->status = status;
    }
}

/* Runs on the client's thread. */
static void
finish_call(void *arg)
{
    struct local_call *call = arg;
    client_done_fn *done = call->done;
    struct client_reply reply = {0};
    struct status status = {0};
    char revision[24];

    if (done != NULL) {
        list_remove(&call->link);
        fill_reply(call, &reply, &status, revision);
        done(&reply, call->context);
    }
    call_free(call);
}

static void
render_text(struct local_call *call)
{
    struct request *q = call->q;
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct view view = {
        .kind = q->route.kind,
        .principal = q->principal,
        .store = q->server->store,
        .now_us = clock_real_us(q->server->clock),
    };

    if (!accept_parse(call->accept, &view.accept, &q->reply) || !render_check(&view, &q->reply))
        return;
    render_reply(frame, &view, &q->reply);
    frame_copy(frame, &text);
    call->length = text.length;
    call->text = arena_strndup(q->arena, text.text, text.length);
}

/* render_text, answered, begin_call and start_call run on the API's thread. */
static void
answered(struct request *q)
{
    struct local_call *call = q->context;

    if (call->is_text)
        render_text(call);
    mailbox_post(call->mailbox, finish_call, abandon_call, call);
}

static void
begin_call(struct request *q)
{
    struct local_call *call = q->context;

    verbs_start(q, call->parameters, call->n_parameters);
}

static void
start_call(void *arg)
{
    struct local_call *call = arg;

    if (call->is_on_behalf)
        on_behalf_start(call->q, call->uid, begin_call);
    else
        verbs_start(call->q, call->parameters, call->n_parameters);
}

static enum verb
verb_of(enum client_verb verb)
{
    switch (verb) {
    case CLIENT_GET:
        return VERB_GET;
    case CLIENT_LIST:
        return VERB_LIST;
    case CLIENT_CREATE:
        return VERB_CREATE;
    case CLIENT_REPLACE:
        return VERB_REPLACE;
    case CLIENT_DELETE:
        return VERB_DELETE;
    case CLIENT_DELETE_COLLECTION:
        return VERB_DELETE_COLLECTION;
    default:
        return VERB_PATCH;
    }
}

static enum body_format
format_of(enum client_verb verb)
{
    switch (verb) {
    case CLIENT_MERGE_PATCH:
        return BODY_MERGE_PATCH;
    case CLIENT_STRATEGIC_PATCH:
        return BODY_STRATEGIC_PATCH;
    case CLIENT_JSON_PATCH:
        return BODY_JSON_PATCH;
    case CLIENT_APPLY:
        return BODY_APPLY;
    default:
        return BODY_JSON;
    }
}

static const char *
copy_text(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

static void
copy_request(struct local_call *call, const struct client_request *request)
{
    struct request *q = call->q;
    struct local_query query;

    q->route.verb = verb_of(request->verb);
    q->route.kind = request->kind;
    q->route.namespace = copy_text(q->arena, request->namespace);
    q->route.name = copy_text(q->arena, request->name);
    if (request->subresource != NULL)
        q->route.subresource = subresource_parse(request->subresource);
    q->format = format_of(request->verb);
    q->body = request->body;
    call->is_on_behalf =
        request->on_behalf_of != NULL && object_owner(request->on_behalf_of, &call->uid);
    q->submission_key = copy_text(q->arena, request->submission_key);
    local_query_start(&query, q->arena, request->query);
    local_query_add(&query, "labelSelector", request->label_selector);
    local_query_add(&query, "fieldSelector", request->field_selector);
    local_query_add(&query, "continue", request->continue_token);
    local_query_add(&query, "resourceVersion", request->resource_version);
    if (request->limit > 0)
        local_query_add(&query, "limit", arena_printf(q->arena, "%" PRId64, request->limit));
    call->parameters = query.items;
    call->n_parameters = query.count;
    call->is_text = request->raw || request->accept != NULL;
    call->accept = copy_text(q->arena, request->accept);
}

static struct client_call *
local_client_call(struct client *client, struct arena *arena TAKES,
                  const struct client_request *request, client_done_fn *done, void *context)
{
    struct local_client *c = container_of(client, struct local_client, client);
    struct local_call *call = xnew(struct local_call);

    call->call.client = client;
    call->mailbox = mailbox_ref(c->mailbox);
    call->done = done;
    call->context = context;
    call->q = request_new(c->server, arena != NULL ? arena : arena_new(0));
    call->q->principal = c->principal;
    call->q->done = answered;
    call->q->context = call;
    copy_request(call, request);
    list_add_last(&c->calls, &call->link);
    loop_post(c->server->loop, start_call, call);
    return &call->call;
}

static void
local_client_cancel(struct client_call *base)
{
    struct local_call *call = container_of(base, struct local_call, call);

    call->done = NULL;
    list_remove(&call->link);
}

static void
local_client_abandon(struct client *client)
{
    struct local_client *c = container_of(client, struct local_client, client);
    struct error err = {0};
    struct list calls;

    error_set(&err, -ECANCELED, "this component of the controller is stopping");
    list_take_over(&calls, &c->calls);
    while (!list_is_empty(&calls)) {
        struct local_call *call = container_of(calls.next, struct local_call, link);
        client_done_fn *done = call->done;

        local_client_cancel(&call->call);
        done(&(struct client_reply){.error = &err}, call->context);
    }
}

/* The client */

static void
local_client_respond(struct client *client, client_respond_fn *respond, void *context)
{
    struct local_client *c = container_of(client, struct local_client, client);

    struct responders *all = c->principal->type == PRINCIPAL_LIFECYCLE ? c->server->quota_responders
                                                                       : c->server->responders;

    responder_close(c->responder);
    c->responder = responder_new(all, client->loop, respond, context);
}

static void
local_client_free(struct client *client)
{
    struct local_client *c = container_of(client, struct local_client, client);

    responder_close(c->responder);
    list_foreach_safe(at, &c->calls)
        local_client_cancel(&container_of(at, struct local_call, link)->call);
    local_watch_stop_all(c);
    mailbox_close(c->mailbox);
    free(c);
}

static const struct client_ops ops = {
    .call = local_client_call,
    .cancel = local_client_cancel,
    .abandon = local_client_abandon,
    .watch = local_watch_start,
    .stop = local_watch_stop,
    .respond = local_client_respond,
    .free = local_client_free,
};

struct client *
local_client_new(struct apiserver *server, struct loop *loop, const struct principal *principal)
{
    struct local_client *c = xnew(struct local_client);

    c->client.ops = &ops;
    c->client.loop = loop;
    c->server = server;
    c->principal = principal;
    c->mailbox = mailbox_open(server->loop, loop);
    list_init(&c->calls);
    list_init(&c->watches);
    return &c->client;
}
