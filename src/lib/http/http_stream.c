/* SPDX-License-Identifier: Apache-2.0 */
/* A watch is many small chunks, for which evhttp would copy, arm the descriptor and take a
 * turn of the loop. While nothing waits, a chunk goes to the socket with one system call; what
 * the socket does not take goes the ordinary way, and everything after it, so that the order
 * stays (decision 86).
 */
#include "lib/http/http_stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "lib/base/alloc.h"
#include "lib/http/http_connection.h"
#include "lib/loop/loop.h"

#define VECTORS   32 /* of one chunk that is written directly */
#define CHUNK_END "\r\n"

static struct evbuffer *
output_of(const struct http_stream *s)
{
    return bufferevent_get_output(s->connection->bev);
}

static bool
is_open(const struct http_stream *s)
{
    return s->connection != NULL && s->connection->close_cause == HTTP_NOT_CLOSING;
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
notify_closed(void *arg)
{
    struct http_stream *s = arg;

    if (!s->is_ended && s->callbacks.closed != NULL)
        s->callbacks.closed(s, HTTP_STREAM_PEER_GONE, s->callbacks.arg);
    free(s);
}

/* The client may have disconnected before its stream began. */
void
http_stream_set_callbacks(struct http_stream *s, const struct http_stream_callbacks *callbacks)
{
    s->callbacks = *callbacks;
    if (s->connection != NULL || s->callbacks.closed == NULL || s->is_telling)
        return;
    s->is_telling = true;
    loop_defer(s->loop, notify_closed, s);
}

static void
release(const struct http_piece *pieces, size_t n_pieces)
{
    for (size_t i = 0; i < n_pieces; i++)
        if (pieces[i].release != NULL)
            pieces[i].release(pieces[i].bytes, pieces[i].length, pieces[i].arg);
}

/* evhttp sends the first chunk, so that it knows the callback to run when all
 * is sent. It sends the others too if the answer is not chunked (HTTP/1.0,
 * HEAD).
 */
static void
send_by_evhttp(struct http_stream *s, const struct http_piece *pieces, size_t n_pieces)
{
    struct evbuffer *scratch = s->connection->server->scratch;

    http_request_add_pieces(scratch, pieces, n_pieces);
    evhttp_send_reply_chunk_with_cb(s->ev, scratch, on_drained, s->connection);
    /* Drops a body, which an answer to HEAD must not have. */
    evbuffer_drain(scratch, evbuffer_get_length(scratch));
    s->is_framed =
        evhttp_find_header(evhttp_request_get_output_headers(s->ev), "Transfer-Encoding") != NULL;
}

/* Writes to the socket directly while the bufferevent is empty: for a peer that
 * keeps up this costs one system call and no turn of the loop. Returns the
 * bytes written; an error of the socket is left to the bufferevent.
 */
static size_t
write_through(const struct http_stream *s, struct iovec *vectors, size_t n)
{
    const struct http_connection *c = s->connection;
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = n};
    ssize_t sent;

    if (c->peer.is_secure || evbuffer_get_length(output_of(s)) > 0)
        return 0;
    sent = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent > 0 ? (size_t)sent : 0;
}

/* The bytes after a lent piece are added by reference too: evbuffer_add would
 * allocate as much as the piece.
 */
static void
queue(struct http_stream *s, const char *head, const struct http_piece *pieces, size_t n_pieces,
      size_t sent)
{
    struct evbuffer *scratch = s->connection->server->scratch;

    evbuffer_add(scratch, head, strlen(head));
    http_request_add_pieces(scratch, pieces, n_pieces);
    evbuffer_add_reference(scratch, CHUNK_END, strlen(CHUNK_END), NULL, NULL);
    evbuffer_drain(scratch, sent);
    evbuffer_add_buffer(output_of(s), scratch);
}

static void
send_chunk(struct http_stream *s, const struct http_piece *pieces, size_t n_pieces)
{
    struct iovec vectors[VECTORS];
    size_t n = 0, length = 0, sent = 0;
    char head[24];

    for (size_t i = 0; i < n_pieces; i++)
        length += pieces[i].length;
    snprintf(head, sizeof(head), "%zx\r\n", length);
    if (length > 0 && n_pieces + 2 <= VECTORS) {
        vectors[n++] = (struct iovec){head, strlen(head)};
        for (size_t i = 0; i < n_pieces; i++)
            vectors[n++] = (struct iovec){(void *)(uintptr_t)pieces[i].bytes, pieces[i].length};
        vectors[n++] = (struct iovec){(void *)(uintptr_t)CHUNK_END, strlen(CHUNK_END)};
        sent = write_through(s, vectors, n);
    }
    if (length == 0 || sent == strlen(head) + length + strlen(CHUNK_END))
        release(pieces, n_pieces);
    else
        queue(s, head, pieces, n_pieces, sent);
}

int
http_stream_send(struct http_stream *s, const struct http_piece *pieces, size_t n_pieces)
{
    struct http_connection *c = s->connection;

    if (!is_open(s)) {
        release(pieces, n_pieces);
        return -EPIPE;
    }
    if (s->is_framed)
        send_chunk(s, pieces, n_pieces);
    else
        send_by_evhttp(s, pieces, n_pieces);
    if (evbuffer_get_length(output_of(s)) <= c->server->limits.queued_bytes)
        return 0;
    http_connection_close_later(c, HTTP_TOO_SLOW);
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

/* Closes later: the caller may be inside one of evhttp's callbacks. */
void
http_stream_cut(struct http_stream *s)
{
    if (s->connection == NULL) {
        http_stream_end(s);
        return;
    }
    s->callbacks = (struct http_stream_callbacks){0};
    s->is_ended = true;
    http_connection_close_later(s->connection, HTTP_CUT_SHORT);
}

void
http_stream_closed(struct http_stream *s, enum http_stream_end_reason reason)
{
    struct http_connection *c = s->connection;

    c->server->counts.streams--;
    s->connection = NULL;
    http_request_free_orphan(c, s->ev);
    s->ev = NULL;
    if (s->callbacks.closed == NULL && !s->is_ended)
        return; /* its producer will end it */
    if (s->callbacks.closed != NULL)
        s->callbacks.closed(s, reason, s->callbacks.arg);
    free(s);
}

size_t
http_stream_queued(const struct http_stream *s)
{
    return s->connection == NULL ? 0 : evbuffer_get_length(output_of(s));
}
