/* SPDX-License-Identifier: Apache-2.0 */
/* A watch that falls behind is ended, and its client lists again: this costs the client one
 * list and the server nothing, while an endless queue would cost everybody. Watches end at
 * random times, so that the clients of a cluster do not all come back in the same second.
 */
#include "controller/apiserver/watch/watch.h"

#include <inttypes.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/http/channel.h"
#include "controller/apiserver/http/render.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/watch/feed.h"
#include "controller/apiserver/watch/held_events.h"
#include "controller/apiserver/watch/shared_change.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define TIMEOUT_S       1800 /* plus a random time of up to as much */
#define BOOKMARK_S      30
#define BOOKMARK_LAST_S 2  /* before the end of the watch */
#define BOOKMARK_LEAST  10 /* shorter watches have no bookmarks */
#define WAITING_MAX     10000

struct watch {
    struct list link; /* in the server's list */
    struct request *q;
    struct view view;
    struct channel *channel;
    struct feed *feed;
    struct timer *bookmark;
    struct timer *end;
    struct held_events *held; /* for agents; else NULL */
    int64_t ends_at_ms;
    int64_t timeout_s;
    size_t allowed; /* frames that may wait */
    bool has_columns;
    bool is_closing;
};

static void
send_change(enum client_event_type type, const struct object *object, void *context)
{
    struct watch *w = context;

    channel_send(w->channel, shared_change_frame(w->q->server->shared_change, &w->view,
                                                 feed_type_name(type), object, !w->has_columns));
    w->has_columns = true;
}

static void
watch_free(struct watch *w)
{
    list_remove(&w->link);
    user_limits_end_stream(w->q, USER_WATCH);
    feed_close(w->feed);
    timer_free(w->bookmark);
    timer_free(w->end);
    held_events_release(w->held);
    held_events_free(w->held);
    channel_free(w->channel);
    request_free(w->q);
    free(w);
}

static void
end(void *arg)
{
    watch_free(arg);
}

static void
closed(void *context)
{
    watch_free(context);
}

/* Ends the watch from the loop: its caller is still inside the feed or the
 * channel.
 */
static void
end_later(struct watch *w)
{
    w->is_closing = true;
    timer_start(w->end, 0);
}

static void
send_bookmark(struct watch *w, bool is_initial_end)
{
    struct frame *frame = frame_new();

    held_events_release(w->held);
    render_bookmark(frame, &w->view, w->q->route.kind, store_revision(w->q->server->store),
                    is_initial_end);
    channel_send(w->channel, frame);
    frame_unref(frame);
}

/* Plans a bookmark in half a minute, or the last one shortly before the end. */
static void
plan_bookmark(struct watch *w)
{
    int64_t left_ms = w->ends_at_ms - loop_now_ms();
    int64_t last_ms = left_ms - BOOKMARK_LAST_S * 1000;

    if (last_ms < 0)
        return;
    timer_start(w->bookmark, last_ms < BOOKMARK_S * 1000 ? last_ms : BOOKMARK_S * 1000);
}

/* Bookmarks begin after the initial state. */
static void
end_state(struct watch *w)
{
    const struct options *o = &w->q->options;

    if (o->wants_initial_events && o->wants_bookmarks)
        send_bookmark(w, true);
    if (o->wants_bookmarks && w->timeout_s >= BOOKMARK_LEAST)
        plan_bookmark(w);
}

static void
send_initial(struct watch *w, const struct feed_event *event)
{
    struct frame *frame = frame_new();

    w->view.now_us = clock_real_us(w->q->server->clock);
    render_event(frame, &w->view, feed_type_name(event->type), event->object, !w->has_columns);
    channel_send(w->channel, frame);
    frame_unref(frame);
    w->has_columns = true;
    w->allowed++;
}

static void
send_event(const struct feed_event *event, void *context)
{
    struct watch *w = context;

    if (w->is_closing)
        return;
    if (event->object == NULL) {
        end_state(w);
        return;
    }
    if (event->is_initial)
        send_initial(w, event);
    else if (w->held != NULL)
        held_events_take(w->held, event->type, event->object);
    else
        send_change(event->type, event->object, w);
    if (channel_waiting(w->channel) > w->allowed) {
        log_info("a watcher of %s reads too slowly and is dropped", w->q->route.kind->plural);
        end_later(w);
    }
}

static void
bookmark(void *arg)
{
    struct watch *w = arg;
    bool was_last = w->ends_at_ms - loop_now_ms() <= BOOKMARK_LAST_S * 1000 + 100;

    send_bookmark(w, false);
    if (!was_last)
        plan_bookmark(w);
}

static void
send_expired(struct watch *w)
{
    struct request *q = w->q;
    struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    reply_fail(&q->reply,
               &(struct reply_failure){
                   .code = 410,
                   .reason = "Expired",
                   .message = arena_printf(
                       q->arena, "too old resource version: %" PRId64 " (%" PRId64 ")",
                       q->options.resource_version, store_oldest_revision(q->server->store)),
               });
    json_print(q->reply.tree, &text);
    frame_printf(frame, "{\"type\":\"ERROR\",\"object\":%s}\n", text.text);
    channel_send(w->channel, frame);
    frame_unref(frame);
    end_later(w);
}

static int64_t
choose_timeout(const struct request *q)
{
    struct random_source source;

    if (q->options.timeout_s > 0)
        return q->options.timeout_s;
    random_bytes(&source, sizeof(source));
    return TIMEOUT_S + (int64_t)random_below(&source, TIMEOUT_S);
}

void
watch_start(struct request *q TAKES, const struct view *view, struct http_request *http TAKES,
            struct auth_grant *grant TAKES)
{
    struct watch *w = xnew(struct watch);
    int64_t timeout_s = choose_timeout(q);
    int64_t revision;
    struct channel_callbacks callbacks = {.closed = closed, .context = w};

    w->q = q;
    w->view = *view;
    w->view.east_s = q->options.has_east ? &q->options.east_s : NULL;
    w->allowed = WAITING_MAX;
    w->bookmark = timer_new(q->server->loop, bookmark, w);
    w->end = timer_new(q->server->loop, end, w);
    if (w->view.principal->node != NULL)
        w->held = held_events_new(q->server->loop, send_change, w);
    w->ends_at_ms = loop_now_ms() + timeout_s * 1000;
    w->timeout_s = timeout_s;
    list_add_last(&q->server->watches, &w->link);
    w->channel = channel_open(q->server->dispatch, http, grant, "application/json", &callbacks);
    timer_start(w->end, timeout_s * 1000);
    if (feed_open(q, send_event, w, &revision, &w->feed) < 0) {
        send_expired(w);
        return;
    }
}

void
watch_end_all(struct apiserver *server)
{
    while (!list_is_empty(&server->watches))
        watch_free(container_of(server->watches.next, struct watch, link));
}
