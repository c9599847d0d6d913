/* SPDX-License-Identifier: Apache-2.0 */
/* inprocess.c - the API for rooms of the controller itself: the same requests,
 * without HTTP and without text
 *
 * A call goes to the loop of the API by loop_post, with its arena, and comes
 * back the same way, with references to the objects. A watch is a feed on that
 * side and a bounded mailbox between; when it overflows, the watch ends as
 * one whose history is gone, and its informer lists again.
 *
 * Thread: each struct says which. What both touch is under a lock, or handed
 *         over whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/apiserver.h"
#include "controller/apiserver/caller.h"
#include "controller/apiserver/feed.h"
#include "controller/apiserver/frame.h"
#include "controller/apiserver/line.h"
#include "controller/apiserver/render.h"
#include "controller/apiserver/request.h"
#include "controller/apiserver/server.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/http/target.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"

#define MAILBOX_MAX 65536

static const struct caller rooms[] = {
    [APISERVER_SCHEDULER] = {.type = CALLER_SCHEDULER, .name = "scheduler"},
    [APISERVER_LIFECYCLE] = {.type = CALLER_LIFECYCLE, .name = "lifecycle"},
};

/* The client's thread. */
struct inprocess {
    struct client client;
    struct apiserver *server;
    const struct caller *caller;
    struct line *line;
    struct list calls;
    struct list watches;
};

/* Handed to the API's thread and back. */
struct call {
    struct client_call call;
    struct list link; /* the client's thread alone */
    struct line *line;
    struct request *q;
    client_done_fn *done; /* NULL: cancelled; the client's thread alone */
    void *context;
    const struct parameter *parameters;
    size_t n_parameters;
    bool is_text; /* wanted as text */
    const char *accept;
    const char *text;
    size_t length;
};

struct letter {
    enum client_event_type type;
    const struct object *object; /* a reference */
};

/* Lives until both sides let go of it. */
struct mailbox {
    struct client_watch watch;
    struct list link;       /* the client's thread alone */
    client_event_fn *event; /* likewise; NULL: stopped */
    void *context;          /* likewise */
    struct request *q;      /* the API's thread alone */
    struct feed *feed;      /* likewise */
    struct line *line;      /* both */
    atomic_uint references; /* both */
    pthread_mutex_t lock;   /* for what follows */
    struct letter *letters;
    size_t count, capacity;
    bool is_posted; /* somebody is on the way to empty it */
    int end_code;   /* HTTP; 0: it goes on */
};

/* Calls */

static void
call_free(struct call *call)
{
    request_free(call->q);
    line_unref(call->line);
    free(call);
}

static void
abandon_call(void *arg)
{
    call_free(arg);
}

static void
fill_reply(const struct call *call,
           struct client_reply *reply,
           struct status *status,
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

/* On the client's thread. */
static void
come_back(void *arg)
{
    struct call *call = arg;
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
render_text(struct call *call)
{
    struct request *q = call->q;
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct view view = {
        .kind = q->route.kind,
        .caller = q->caller,
        .store = q->server->store,
        .now_us = clock_real_us(q->server->clock),
    };

    if (!accept_parse(call->accept, &view.accept, &q->reply)
        || !render_check(&view, &q->reply))
        return;
    render_reply(frame, &view, &q->reply);
    frame_copy(frame, &text);
    call->length = text.length;
    call->text = arena_strndup(q->arena, text.text, text.length);
}

/* On the API's thread, as is what follows until come_back. */
static void
answered(struct request *q)
{
    struct call *call = q->context;

    if (call->is_text)
        render_text(call);
    line_tell(call->line, come_back, abandon_call, call);
}

static void
go_over(void *arg)
{
    struct call *call = arg;

    request_start(call->q, call->parameters, call->n_parameters);
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
keep(struct arena *arena, const char *text)
{
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

/* The query that the fields of a request would be. */
struct query {
    struct arena *arena;
    struct parameter *items;
    size_t count;
};

static void
add_parameter(struct query *query, const char *name, const char *value)
{
    if (value == NULL)
        return;
    query->items[query->count].name = name;
    query->items[query->count++].value = arena_strdup(query->arena, value);
}

static void
add_further(struct query *query, const char *text)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;
    struct target target;

    strbuf_printf(&path, "/?%s", text);
    if (target_parse(path.text, &target) < 0)
        return;
    query->items = arena_new_array(query->arena,
                                   struct parameter,
                                   target.n_parameters + 8);
    for (size_t i = 0; i < target.n_parameters; i++)
        add_parameter(query,
                      arena_strdup(query->arena, target.parameters[i].name),
                      target.parameters[i].value);
    target_fini(&target);
}

static void
start_query(struct query *query, struct arena *arena, const char *further)
{
    query->arena = arena;
    query->count = 0;
    query->items = arena_new_array(arena, struct parameter, 8);
    if (further != NULL)
        add_further(query, further);
}

static void
copy_request(struct call *call, const struct client_request *request)
{
    struct request *q = call->q;
    struct query query;

    q->route.verb = verb_of(request->verb);
    q->route.kind = request->kind;
    q->route.namespace = keep(q->arena, request->namespace);
    q->route.name = keep(q->arena, request->name);
    if (request->subresource != NULL)
        q->route.subresource = subresource_parse(request->subresource);
    q->format = format_of(request->verb);
    q->body = request->body;
    q->submission_key = keep(q->arena, request->submission_key);
    start_query(&query, q->arena, request->query);
    add_parameter(&query, "labelSelector", request->label_selector);
    add_parameter(&query, "fieldSelector", request->field_selector);
    add_parameter(&query, "continue", request->continue_token);
    add_parameter(&query, "resourceVersion", request->resource_version);
    if (request->limit > 0)
        add_parameter(&query,
                      "limit",
                      arena_printf(q->arena, "%" PRId64, request->limit));
    call->parameters = query.items;
    call->n_parameters = query.count;
    call->is_text = request->raw || request->accept != NULL;
    call->accept = keep(q->arena, request->accept);
}

static struct client_call *
inprocess_call(struct client *client,
               struct arena *arena TAKES,
               const struct client_request *request,
               client_done_fn *done,
               void *context)
{
    struct inprocess *p = container_of(client, struct inprocess, client);
    struct call *call = xnew(struct call);

    call->call.client = client;
    call->line = line_ref(p->line);
    call->done = done;
    call->context = context;
    call->q = request_new(p->server, arena != NULL ? arena : arena_new(0));
    call->q->caller = p->caller;
    call->q->done = answered;
    call->q->context = call;
    copy_request(call, request);
    list_add_last(&p->calls, &call->link);
    loop_post(p->server->loop, go_over, call);
    return &call->call;
}

static void
inprocess_cancel(struct client_call *base)
{
    struct call *call = container_of(base, struct call, call);

    call->done = NULL;
    list_remove(&call->link);
}

static void
inprocess_abandon(struct client *client)
{
    struct inprocess *p = container_of(client, struct inprocess, client);
    struct error err = {0};
    struct list calls;

    error_set(&err, -ECANCELED, "this room of the controller ends");
    list_take_over(&calls, &p->calls);
    while (!list_is_empty(&calls)) {
        struct call *call = container_of(calls.next, struct call, link);
        client_done_fn *done = call->done;

        inprocess_cancel(&call->call);
        done(&(struct client_reply){.error = &err}, call->context);
    }
}

/* Watches */

static void
mailbox_unref(struct mailbox *box)
{
    if (atomic_fetch_sub(&box->references, 1) > 1)
        return;
    for (size_t i = 0; i < box->count; i++)
        object_unref(box->letters[i].object);
    free(box->letters);
    pthread_mutex_destroy(&box->lock);
    line_unref(box->line);
    free(box);
}

static void
abandon_mailbox(void *arg)
{
    mailbox_unref(arg);
}

static void
tell_letter(struct mailbox *box, const struct letter *letter)
{
    struct client_event event = {
        .type = letter->type,
        .object = letter->object,
    };
    char revision[24];

    snprintf(revision, sizeof(revision), "%" PRId64, letter->object->revision);
    event.resource_version = revision;
    box->event(&event, box->context);
}

static void
tell_end(struct mailbox *box, int code)
{
    struct status status = {
        .status = "Failure",
        .reason = code == 410 ? "Expired" : "BadRequest",
        .message = code == 410 ? "the history does not reach back that far"
                               : "the watch was refused",
        .code = code,
    };
    struct client_event event = {.type = CLIENT_ERROR, .status = &status};

    box->event(&event, box->context);
}

/* On the client's thread: everything that has come since. */
static void
empty(void *arg)
{
    struct mailbox *box = arg;
    struct letter *letters;
    size_t count;
    int end_code;

    pthread_mutex_lock(&box->lock);
    letters = box->letters;
    count = box->count;
    end_code = box->end_code;
    box->letters = NULL;
    box->count = box->capacity = 0;
    box->is_posted = false;
    pthread_mutex_unlock(&box->lock);
    for (size_t i = 0; i < count; i++) {
        if (box->event != NULL)
            tell_letter(box, &letters[i]);
        object_unref(letters[i].object);
    }
    free(letters);
    if (end_code != 0 && box->event != NULL)
        tell_end(box, end_code);
    mailbox_unref(box);
}

/* With the lock held. */
static void
post(struct mailbox *box)
{
    if (box->is_posted)
        return;
    box->is_posted = true;
    atomic_fetch_add(&box->references, 1);
    line_tell(box->line, empty, abandon_mailbox, box);
}

static void
end_mailbox(struct mailbox *box, int code)
{
    pthread_mutex_lock(&box->lock);
    box->end_code = code;
    post(box);
    pthread_mutex_unlock(&box->lock);
}

/* On the API's thread, as is what follows. */
static void
drop_letters(struct mailbox *box)
{
    for (size_t i = 0; i < box->count; i++)
        object_unref(box->letters[i].object);
    box->count = 0;
}

static void
put_letter(const struct feed_event *event, void *context)
{
    struct mailbox *box = context;

    if (event->object == NULL)
        return;
    pthread_mutex_lock(&box->lock);
    if (box->end_code == 0) {
        if (box->count == MAILBOX_MAX) {
            drop_letters(box);
            box->end_code = 410;
        } else {
            xgrow(box->letters, box->count, box->capacity);
            box->letters[box->count].type = event->type;
            box->letters[box->count++].object = object_ref(event->object);
        }
        post(box);
    }
    pthread_mutex_unlock(&box->lock);
}

static void
begin_feed(void *arg)
{
    struct mailbox *box = arg;
    struct request *q = box->q;
    int64_t revision;

    if (!options_parse(&q->options,
                       q->arena,
                       &q->route,
                       q->options.parameters,
                       q->options.n_parameters,
                       NULL,
                       &q->reply)
        || !authorization_check(q))
        end_mailbox(box, q->reply.code);
    else if (feed_open(q, put_letter, box, &revision, &box->feed) < 0)
        end_mailbox(box, 410);
}

static void
end_feed(void *arg)
{
    struct mailbox *box = arg;

    feed_close(box->feed);
    request_free(box->q);
    mailbox_unref(box);
}

static struct client_watch *
inprocess_watch(struct client *client,
                const struct client_watch_request *request,
                client_event_fn *event,
                void *context)
{
    struct inprocess *p = container_of(client, struct inprocess, client);
    struct mailbox *box = xnew(struct mailbox);
    struct request *q = request_new(p->server, arena_new(0));
    struct query query;

    atomic_init(&box->references, 2); /* the client's, the API's */
    pthread_mutex_init(&box->lock, NULL);
    box->watch.client = client;
    box->line = line_ref(p->line);
    box->event = event;
    box->context = context;
    box->q = q;
    q->caller = p->caller;
    q->route.verb = VERB_WATCH;
    q->route.kind = request->kind;
    q->route.namespace = keep(q->arena, request->namespace);
    start_query(&query, q->arena, NULL);
    add_parameter(&query, "labelSelector", request->label_selector);
    add_parameter(&query, "fieldSelector", request->field_selector);
    add_parameter(&query, "resourceVersion", request->resource_version);
    q->options.parameters = query.items;
    q->options.n_parameters = query.count;
    list_add_last(&p->watches, &box->link);
    loop_post(p->server->loop, begin_feed, box);
    return &box->watch;
}

static void
inprocess_stop(struct client_watch *base)
{
    struct mailbox *box = container_of(base, struct mailbox, watch);
    struct loop *server_loop = box->q->server->loop;

    box->event = NULL;
    list_remove(&box->link);
    loop_post(server_loop, end_feed, box);
    mailbox_unref(box);
}

/* The client */

static void
inprocess_free(struct client *client)
{
    struct inprocess *p = container_of(client, struct inprocess, client);

    list_foreach_safe(at, &p->calls)
        inprocess_cancel(&container_of(at, struct call, link)->call);
    list_foreach_safe(at, &p->watches)
        inprocess_stop(&container_of(at, struct mailbox, link)->watch);
    line_close(p->line);
    free(p);
}

static const struct client_ops ops = {
    .call = inprocess_call,
    .cancel = inprocess_cancel,
    .abandon = inprocess_abandon,
    .watch = inprocess_watch,
    .stop = inprocess_stop,
    .free = inprocess_free,
};

struct client *
apiserver_client_new(struct apiserver *server,
                     struct loop *loop,
                     enum apiserver_room room)
{
    struct inprocess *p = xnew(struct inprocess);

    p->client.ops = &ops;
    p->client.loop = loop;
    p->server = server;
    p->caller = &rooms[room];
    p->line = line_open(server->loop, loop);
    list_init(&p->calls);
    list_init(&p->watches);
    return &p->client;
}
