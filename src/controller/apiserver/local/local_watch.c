/* SPDX-License-Identifier: Apache-2.0 */
/* local_watch.c - a watch of the local client: a feed on the API's thread, and
 * a bounded buffer between the threads
 *
 * Thread:  each member says which.
 */
#include "controller/apiserver/local/local_client_state.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/local/local_query.h"
#include "controller/apiserver/local/mailbox.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/apiserver/watch/feed.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"

#define EVENTS_MAX 65536

struct buffered_event {
    enum client_event_type type;
    const struct object *object; /* a reference */
};

/* Exists until both threads have dropped their reference. */
struct event_buffer {
    struct client_watch watch;
    struct list link;        /* used by the client's thread only */
    client_event_fn *event;  /* likewise; NULL: stopped */
    void *context;           /* likewise */
    struct request *q;       /* used by the API's thread only */
    struct feed *feed;       /* likewise */
    struct mailbox *mailbox; /* both */
    atomic_uint references;  /* both */
    pthread_mutex_t lock;    /* protects the members below */
    struct buffered_event *events;
    size_t count, capacity;
    bool is_posted; /* deliver_events is posted */
    int end_code;   /* HTTP status; 0: the watch has not ended */
};

static void
event_buffer_unref(struct event_buffer *buffer)
{
    if (atomic_fetch_sub(&buffer->references, 1) > 1)
        return;
    for (size_t i = 0; i < buffer->count; i++)
        object_unref(buffer->events[i].object);
    free(buffer->events);
    pthread_mutex_destroy(&buffer->lock);
    mailbox_unref(buffer->mailbox);
    free(buffer);
}

static void
abandon_buffer(void *arg)
{
    event_buffer_unref(arg);
}

static void
deliver_event(struct event_buffer *buffer, const struct buffered_event *from)
{
    struct client_event event = {
        .type = from->type,
        .object = from->object,
    };
    char revision[24];

    snprintf(revision, sizeof(revision), "%" PRId64, from->object->revision);
    event.resource_version = revision;
    buffer->event(&event, buffer->context);
}

static void
deliver_end(struct event_buffer *buffer, int code)
{
    struct status status = {
        .status = "Failure",
        .reason = code == 410 ? "Expired" : "BadRequest",
        .message =
            code == 410 ? "the change log does not reach back that far" : "the watch was refused",
        .code = code,
    };
    struct client_event event = {.type = CLIENT_ERROR, .status = &status};

    buffer->event(&event, buffer->context);
}

/* Runs on the client's thread and delivers all events since the last call. */
static void
deliver_events(void *arg)
{
    struct event_buffer *buffer = arg;
    struct buffered_event *events;
    size_t count;
    int end_code;

    pthread_mutex_lock(&buffer->lock);
    events = buffer->events;
    count = buffer->count;
    end_code = buffer->end_code;
    buffer->events = NULL;
    buffer->count = buffer->capacity = 0;
    buffer->is_posted = false;
    pthread_mutex_unlock(&buffer->lock);
    for (size_t i = 0; i < count; i++) {
        if (buffer->event != NULL)
            deliver_event(buffer, &events[i]);
        object_unref(events[i].object);
    }
    free(events);
    if (end_code != 0 && buffer->event != NULL)
        deliver_end(buffer, end_code);
    event_buffer_unref(buffer);
}

/* Call with the lock held. */
static void
post_buffer(struct event_buffer *buffer)
{
    if (buffer->is_posted)
        return;
    buffer->is_posted = true;
    atomic_fetch_add(&buffer->references, 1);
    mailbox_post(buffer->mailbox, deliver_events, abandon_buffer, buffer);
}

static void
end_buffer(struct event_buffer *buffer, int code)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->end_code = code;
    post_buffer(buffer);
    pthread_mutex_unlock(&buffer->lock);
}

/* This function and those below, up to end_feed, run on the API's thread. */
static void
drop_events(struct event_buffer *buffer)
{
    for (size_t i = 0; i < buffer->count; i++)
        object_unref(buffer->events[i].object);
    buffer->count = 0;
}

static void
buffer_event(const struct feed_event *event, void *context)
{
    struct event_buffer *buffer = context;

    if (event->object == NULL)
        return;
    pthread_mutex_lock(&buffer->lock);
    if (buffer->end_code == 0) {
        if (buffer->count == EVENTS_MAX) {
            drop_events(buffer);
            buffer->end_code = 410;
        } else {
            xgrow(buffer->events, buffer->count, buffer->capacity);
            buffer->events[buffer->count].type = event->type;
            buffer->events[buffer->count++].object = object_ref(event->object);
        }
        post_buffer(buffer);
    }
    pthread_mutex_unlock(&buffer->lock);
}

static void
begin_feed(void *arg)
{
    struct event_buffer *buffer = arg;
    struct request *q = buffer->q;
    int64_t revision;

    if (!options_parse(&q->options, q->arena, &q->route, q->options.parameters,
                       q->options.n_parameters, NULL, &q->reply)
        || !authorization_check(q) || !verbs_check_read(q))
        end_buffer(buffer, q->reply.code);
    else if (feed_open(q, buffer_event, buffer, &revision, &buffer->feed) < 0)
        end_buffer(buffer, 410);
}

static void
end_feed(void *arg)
{
    struct event_buffer *buffer = arg;

    feed_close(buffer->feed);
    request_free(buffer->q);
    event_buffer_unref(buffer);
}

struct client_watch *
local_watch_start(struct client *client, const struct client_watch_request *request,
                  client_event_fn *event, void *context)
{
    struct local_client *c = container_of(client, struct local_client, client);
    struct event_buffer *buffer = xnew(struct event_buffer);
    struct request *q = request_new(c->server, arena_new(0));
    struct local_query query;

    atomic_init(&buffer->references, 2); /* the client's and the API's */
    pthread_mutex_init(&buffer->lock, NULL);
    buffer->watch.client = client;
    buffer->mailbox = mailbox_ref(c->mailbox);
    buffer->event = event;
    buffer->context = context;
    buffer->q = q;
    q->principal = c->principal;
    q->route.verb = VERB_WATCH;
    q->route.kind = request->kind;
    q->route.namespace =
        request->namespace != NULL ? arena_strdup(q->arena, request->namespace) : NULL;
    local_query_start(&query, q->arena, NULL);
    local_query_add(&query, "labelSelector", request->label_selector);
    local_query_add(&query, "fieldSelector", request->field_selector);
    local_query_add(&query, "resourceVersion", request->resource_version);
    q->options.parameters = query.items;
    q->options.n_parameters = query.count;
    list_add_last(&c->watches, &buffer->link);
    loop_post(c->server->loop, begin_feed, buffer);
    return &buffer->watch;
}

void
local_watch_stop(struct client_watch *base)
{
    struct event_buffer *buffer = container_of(base, struct event_buffer, watch);
    struct loop *server_loop = buffer->q->server->loop;

    buffer->event = NULL;
    list_remove(&buffer->link);
    loop_post(server_loop, end_feed, buffer);
    event_buffer_unref(buffer);
}

void
local_watch_stop_all(struct local_client *c)
{
    list_foreach_safe(at, &c->watches)
        local_watch_stop(&container_of(at, struct event_buffer, link)->watch);
}
