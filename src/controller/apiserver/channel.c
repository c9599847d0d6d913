/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/channel.h"

#include <string.h>

#include "controller/apiserver/frame.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/http/http_request.h"
#include "lib/http/http_stream.h"

/* Bytes handed to HTTP ahead of the client; the rest waits as frames, which
 * share their bytes.
 */
#define AHEAD_BYTES (256u << 10)

struct channel {
    struct http_stream *stream; /* NULL once it has closed */
    struct auth_grant *grant;
    struct channel_callbacks callbacks;
    struct frame **queue; /* a ring */
    size_t capacity, first, count;
};

static void
drop_queue(struct channel *c)
{
    for (; c->count > 0; c->count--) {
        frame_unref(c->queue[c->first]);
        c->first = (c->first + 1) % c->capacity;
    }
}

static void
send_now(struct channel *c, struct frame *frame)
{
    char seal[AUTH_FRAME_SIZE];
    bool sealed = c->grant != NULL && auth_grant_seals_frames(c->grant);
    struct http_piece *pieces;
    size_t count;

    pieces = frame_take_pieces(frame, sealed ? 1 : 0, &count);
    if (sealed) {
        pieces[0].length = auth_grant_frame(c->grant,
                                            frame_digest(frame),
                                            frame_length(frame),
                                            seal);
        pieces[0].bytes = seal;
    }
    http_stream_send(c->stream, pieces, count);
    free(pieces);
}

static void
flush(struct channel *c)
{
    while (c->count > 0 && http_stream_queued(c->stream) < AHEAD_BYTES) {
        struct frame *frame = c->queue[c->first];

        c->first = (c->first + 1) % c->capacity;
        c->count--;
        send_now(c, frame);
        frame_unref(frame);
    }
}

static void
stream_closed(struct http_stream *s,
              enum http_stream_end_reason reason,
              void *arg)
{
    struct channel *c = arg;

    (void)s;
    if (reason == HTTP_STREAM_TOO_SLOW)
        log_info("a watcher reads too slowly and was dropped");
    c->stream = NULL;
    drop_queue(c);
    c->callbacks.closed(c->callbacks.context);
}

static void
stream_drained(struct http_stream *s, void *arg)
{
    struct channel *c = arg;

    (void)s;
    flush(c);
    if (c->count == 0 && c->callbacks.drained != NULL)
        c->callbacks.drained(c->callbacks.context);
}

/* The head's seal, made at once: streams have sessions, no credentials. */
static void
add_seal(const char *name,
         const char *value,
         const struct error *err,
         void *arg)
{
    struct http_request *http = arg;

    if (err != NULL)
        log_warning("the head of a stream is not sealed: %s", err->text);
    else if (name != NULL)
        http_request_add_header(http, name, value);
}

struct channel *
channel_open(struct http_request *http TAKES,
             struct auth_grant *grant TAKES,
             const char *content_type,
             const struct channel_callbacks *callbacks)
{
    struct channel *c = xnew(struct channel);
    struct digest nothing;
    struct http_stream_callbacks on_stream = {
        .closed = stream_closed,
        .drained = stream_drained,
        .arg = c,
    };

    c->grant = grant;
    c->callbacks = *callbacks;
    if (grant != NULL) {
        digest_of("", 0, &nothing);
        auth_grant_seal(grant, 200, content_type, &nothing, add_seal, http);
    }
    c->stream = http_request_stream(http, 200, content_type);
    http_stream_set_callbacks(c->stream, &on_stream);
    return c;
}

void
channel_free(struct channel *c)
{
    char seal[AUTH_FRAME_SIZE];

    if (c == NULL)
        return;
    if (c->stream != NULL) {
        while (c->count > 0) {
            struct frame *frame = c->queue[c->first];

            c->first = (c->first + 1) % c->capacity;
            c->count--;
            send_now(c, frame);
            frame_unref(frame);
        }
        if (c->grant != NULL && auth_grant_end(c->grant, seal) > 0)
            http_stream_send_text(c->stream, seal, strlen(seal));
        http_stream_end(c->stream);
    }
    drop_queue(c);
    if (c->grant != NULL)
        auth_grant_free(c->grant);
    free(c->queue);
    free(c);
}

static void
grow(struct channel *c)
{
    size_t larger = c->capacity > 0 ? 2 * c->capacity : 16;
    struct frame **queue = xnew_array(struct frame *, larger);

    for (size_t i = 0; i < c->count; i++)
        queue[i] = c->queue[(c->first + i) % c->capacity];
    free(c->queue);
    c->queue = queue;
    c->capacity = larger;
    c->first = 0;
}

void
channel_send(struct channel *c, struct frame *frame)
{
    if (c->stream == NULL)
        return;
    if (c->count == c->capacity)
        grow(c);
    c->queue[(c->first + c->count++) % c->capacity] = frame_ref(frame);
    flush(c);
}

size_t
channel_waiting(const struct channel *c)
{
    return c->count;
}
