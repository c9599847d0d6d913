/* SPDX-License-Identifier: Apache-2.0 */
/* http_stream.h - an answer that goes on: watches and logs
 *
 * Sent in chunks as they come, never idle-timed. A peer that does not read is
 * dropped when more than the server's `queued_bytes` wait for it.
 *
 * Thread:     the server's loop.
 * Invariant:  a stream ends once: by http_stream_end, http_stream_cut or
 *             `closed`.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/http/http.h"

struct http_stream;

enum http_stream_end_reason {
    HTTP_STREAM_PEER_GONE,
    HTTP_STREAM_TOO_SLOW,
    HTTP_STREAM_SERVER_ENDS,
};

struct http_stream_callbacks {
    /* Called from the loop, never from inside a send; the stream is gone when
     * it returns. May be NULL, and then sends to nobody are swallowed until
     * http_stream_end.
     */
    void (*closed)(struct http_stream *s,
                   enum http_stream_end_reason reason,
                   void *arg);
    /* Called when the bytes that a send left queued have gone to the peer, for
     * producers that should not outrun it (logs). May be NULL.
     */
    void (*drained)(struct http_stream *s, void *arg);
    void *arg;
};

/* Change. Send: 0, or -EPIPE once the peer has gone or was dropped by this
 * very call (`closed` follows); the pieces are released in any case. End: the
 * rest is still delivered; the stream is gone and `closed` never comes. Cut:
 * as end, but the connection closes before the stream's proper end, so that the
 * peer knows that something is missing; what the socket has no room for is not
 * delivered.
 */
void http_stream_set_callbacks(struct http_stream *s,
                               const struct http_stream_callbacks *callbacks);
int http_stream_send(struct http_stream *s,
                     const struct http_piece *pieces,
                     size_t n_pieces);
int
http_stream_send_text(struct http_stream *s, const void *text, size_t length);
void http_stream_end(struct http_stream *s TAKES);
void http_stream_cut(struct http_stream *s TAKES);

/* Look: bytes not yet taken by the kernel. */
size_t http_stream_queued(const struct http_stream *s);
