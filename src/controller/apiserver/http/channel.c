/* SPDX-License-Identifier: Apache-2.0 */
/* A client that does not read must cost a bounded amount of memory and nobody else's time. So
 * only a part of the queue is handed to HTTP, which copies; the rest waits as frames, whose
 * bytes are shared by all clients. The owner of the channel decides about a client that falls
 * behind, because only the owner knows what would be lost.
 */
#include "controller/apiserver/http/channel.h"

#include <stdint.h>
#include <string.h>

#include "controller/apiserver/http/dispatch.h"
#include "controller/apiserver/request/frame.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/http/http_request.h"
#include "lib/http/http_stream.h"

/* The most bytes handed to HTTP before the client has read them. The rest waits
 * as frames, whose bytes are shared.
 */
#define AHEAD_BYTES (256u << 10)

/* The most frames of one send. A channel with this many queued frames is
 * flushed before the end of the turn.
 */
#define AT_ONCE DISPATCH_JOINED

struct channel {
    struct http_stream *stream; /* NULL after it has closed */
    struct auth_grant *grant;
    struct channel_callbacks callbacks;
    struct frame **queue; /* a ring */
    size_t capacity, first, count;
    struct dispatch *dispatch;
    struct dispatch_entry entry; /* plans a flush at the end of the turn */
};

static struct frame *
take_first(struct channel *c)
{
    struct frame *frame = c->queue[c->first];

    c->first = (c->first + 1) % c->capacity;
    c->count--;
    return frame;
}

static void
drop_queue(struct channel *c)
{
    while (c->count > 0)
        frame_unref(take_first(c));
}

static bool
is_sealed(const struct channel *c)
{
    return c->grant != NULL && auth_grant_seals_frames(c->grant);
}

/* Collects the pieces of the next `n` frames, with their seals. */
static size_t
gather(struct channel *c, struct frame *const *frames, size_t n, char (*seals)[AUTH_FRAME_SIZE],
       struct http_piece *pieces)
{
    bool sealed = is_sealed(c);
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (sealed)
            pieces[count++] = (struct http_piece){
                .bytes = seals[i],
                .length = auth_grant_frame(c->grant, frame_digest(frames[i]),
                                           frame_length(frames[i]), seals[i]),
            };
        frame_take_pieces(frames[i], &pieces[count]);
        count += frame_count_pieces(frames[i]);
    }
    return count;
}

static void
send_frames(struct channel *c, struct frame *const *frames, size_t n)
{
    char seals[AT_ONCE][AUTH_FRAME_SIZE];
    struct http_piece few[2] = {0};
    struct http_piece *pieces = few;
    size_t n_pieces = 0;

    for (size_t i = 0; i < n; i++)
        n_pieces += 1 + frame_count_pieces(frames[i]);
    if (n_pieces > ARRAY_SIZE(few))
        pieces = xnew_array(struct http_piece, n_pieces);
    n_pieces = gather(c, frames, n, seals, pieces);
    http_stream_send(c->stream, pieces, n_pieces);
    if (pieces != few)
        free(pieces);
}

/* Sends several frames at once: a chunk and a system call for each would cost
 * more than the frame itself.
 */
static void
send_some(struct channel *c, size_t room)
{
    struct frame *frames[AT_ONCE];
    size_t n = 0, bytes = 0;
    bool are_shared = !is_sealed(c);

    while (c->count > 0 && n < AT_ONCE && bytes < room) {
        frames[n] = take_first(c);
        bytes += frame_length(frames[n]);
        are_shared = are_shared && frame_is_shared(frames[n]);
        n++;
    }
    if (are_shared && n > 1) {
        struct frame *joined = dispatch_join(c->dispatch, frames, n);

        send_frames(c, &joined, 1);
    } else
        send_frames(c, frames, n);
    for (size_t i = 0; i < n; i++)
        frame_unref(frames[i]);
}

static void
flush(struct channel *c)
{
    while (c->stream != NULL && c->count > 0) {
        size_t queued = http_stream_queued(c->stream);

        if (queued >= AHEAD_BYTES)
            return;
        send_some(c, AHEAD_BYTES - queued);
    }
}

/* The stream reports later that it has sent what it could not send at once.
 * `drained` may free the channel.
 */
static void
flush_and_report(struct channel *c)
{
    flush(c);
    if (c->callbacks.drained != NULL && c->stream != NULL && c->count == 0
        && http_stream_queued(c->stream) == 0)
        c->callbacks.drained(c->callbacks.context);
}

void
channel_flush(struct dispatch_entry *entry)
{
    flush_and_report(container_of(entry, struct channel, entry));
}

static void
stream_closed(struct http_stream *s, enum http_stream_end_reason reason, void *arg)
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
    (void)s;
    flush_and_report(arg);
}

/* The seal of the stream's head. auth_grant_seal answers before it returns,
 * because streams have sessions, not credentials.
 */
static void
add_seal(const char *name, const char *value, const struct error *err, void *arg)
{
    struct http_request *http = arg;

    if (err != NULL)
        log_warning("cannot sign the head of a stream: %s", err->text);
    else if (name != NULL)
        http_request_add_header(http, name, value);
}

struct channel *
channel_open(struct dispatch *dispatch, struct http_request *http TAKES,
             struct auth_grant *grant TAKES, const char *content_type,
             const struct channel_callbacks *callbacks)
{
    struct channel *c = xnew(struct channel);
    struct digest nothing;
    struct http_stream_callbacks on_stream = {
        .closed = stream_closed,
        .drained = stream_drained,
        .arg = c,
    };

    c->dispatch = dispatch;
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
        while (c->count > 0)
            send_some(c, SIZE_MAX);
        if (c->grant != NULL && auth_grant_end(c->grant, seal) > 0)
            http_stream_send_text(c->stream, seal, strlen(seal));
        http_stream_end(c->stream);
    }
    drop_queue(c);
    if (c->grant != NULL)
        auth_grant_free(c->grant);
    dispatch_forget(&c->entry);
    free(c->queue);
    free(c);
}

void
channel_cut(struct channel *c)
{
    if (c == NULL)
        return;
    if (c->stream != NULL) {
        while (c->count > 0)
            send_some(c, SIZE_MAX);
        http_stream_cut(c->stream);
    }
    c->stream = NULL;
    channel_free(c);
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
    if (c->count >= AT_ONCE)
        flush(c);
    if (c->count > 0 || c->callbacks.drained != NULL)
        dispatch_plan(c->dispatch, &c->entry);
}

size_t
channel_waiting(const struct channel *c)
{
    return c->count;
}
