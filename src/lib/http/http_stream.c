/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_stream.h"

#include <errno.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "lib/base/alloc.h"
#include "lib/http/http_connection.h"
#include "lib/loop/loop.h"

static struct evbuffer *
output_of(const struct http_stream *s)
{
    return bufferevent_get_output(s->connection->bev);
}

static bool
is_open(const struct http_stream *s)
{
    return s->connection != NULL && s->connection->doom == HTTP_SPARED;
}

static void
on_drained(struct evhttp_connection *ev, void *arg)
{
    struct http_connection *c = arg;
    struct http_stream *s = c->stream;

    (void)ev;
    if (s != NULL && s->callbacks.drained != NULL)
        s->callbacks.drained(s, s->callbacks.arg);
}

static void
tell_closed(void *arg)
{
    struct http_stream *s = arg;

    if (!s->is_ended && s->callbacks.closed != NULL)
        s->callbacks.closed(s, HTTP_STREAM_PEER_GONE, s->callbacks.arg);
    free(s);
}

/* The client may have gone before its stream began. */
void
http_stream_set_callbacks(struct http_stream *s,
                          const struct http_stream_callbacks *callbacks)
{
    s->callbacks = *callbacks;
    if (s->connection != NULL || s->callbacks.closed == NULL || s->is_telling)
        return;
    s->is_telling = true;
    loop_defer(s->loop, tell_closed, s);
}

/* The pieces are released by being gathered and, with nobody to send them to,
 * drained.
 */
int
http_stream_send(struct http_stream *s,
                 const struct http_piece *pieces,
                 size_t n_pieces)
{
    struct http_connection *c = s->connection;
    struct http_server *server;

    if (!is_open(s)) {
        for (size_t i = 0; i < n_pieces; i++)
            if (pieces[i].release != NULL)
                pieces[i].release(pieces[i].bytes,
                                  pieces[i].length,
                                  pieces[i].arg);
        return -EPIPE;
    }
    server = c->server;
    http_request_gather(server->scratch, pieces, n_pieces);
    evhttp_send_reply_chunk_with_cb(s->ev, server->scratch, on_drained, c);
    /* What a HEAD does not get stays behind. */
    evbuffer_drain(server->scratch, evbuffer_get_length(server->scratch));
    if (evbuffer_get_length(output_of(s)) <= server->limits.queued_bytes)
        return 0;
    http_connection_doom(c, HTTP_TOO_SLOW);
    return -EPIPE;
}

int
http_stream_send_text(struct http_stream *s, const void *text, size_t length)
{
    struct http_piece piece = {.bytes = text, .length = length};

    return http_stream_send(s, &piece, 1);
}

void
http_stream_end(struct http_stream *s)
{
    struct http_connection *c = s->connection;

    if (c != NULL) {
        c->stream = NULL;
        c->server->counts.streams--;
        http_connection_enter(c, HTTP_SENDING);
        evhttp_send_reply_end(s->ev);
    }
    if (s->is_telling)
        s->is_ended = true;
    else
        free(s);
}

/* Not at once: whoever cuts it may stand in one of evhttp's callbacks. */
void
http_stream_cut(struct http_stream *s)
{
    if (s->connection == NULL) {
        http_stream_end(s);
        return;
    }
    s->callbacks = (struct http_stream_callbacks){0};
    s->is_ended = true;
    http_connection_doom(s->connection, HTTP_CUT_SHORT);
}

void
http_stream_closed(struct http_stream *s, enum http_stream_end_reason reason)
{
    struct http_connection *c = s->connection;

    c->server->counts.streams--;
    s->connection = NULL;
    http_request_bury(c, s->ev);
    s->ev = NULL;
    if (s->callbacks.closed == NULL && !s->is_ended)
        return; /* its producer ends it some time */
    if (s->callbacks.closed != NULL)
        s->callbacks.closed(s, reason, s->callbacks.arg);
    free(s);
}

size_t
http_stream_queued(const struct http_stream *s)
{
    return s->connection == NULL ? 0 : evbuffer_get_length(output_of(s));
}
