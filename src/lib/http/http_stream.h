/* SPDX-License-Identifier: Apache-2.0 */
/* http_stream.h - an answer that continues: watches and logs
 *
 * The answer is sent in chunks as they come, without an idle timeout. A peer that does not
 * read is dropped when more than the server's `queued_bytes` are queued for it.
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
    /* Called from the loop, never inside a send; the stream is freed when it
     * returns. If NULL, sends after the peer has disconnected are discarded
     * until http_stream_end.
     */
    void (*closed)(struct http_stream *s, enum http_stream_end_reason reason, void *arg);
    /* Called when the peer has received the bytes that a send left queued, for
     * producers that should not be faster than the peer (logs). May be NULL.
     */
    void (*drained)(struct http_stream *s, void *arg);
    void *arg;
};

void http_stream_set_callbacks(struct http_stream *s,
                               const struct http_stream_callbacks *callbacks);

/* Returns 0, or -EPIPE once the peer has disconnected or was dropped by this very call
 * (`closed` follows). The pieces are released in any case.
 */
int http_stream_send(struct http_stream *s, const struct http_piece *pieces, size_t n_pieces);

int http_stream_send_text(struct http_stream *s, const void *text, size_t length);

/* Ends the stream and frees it. Queued bytes are still delivered; `closed` is not called. */
void http_stream_end(struct http_stream *s TAKES);

/* Ends the stream like http_stream_end, but closes the connection before the final chunk, so
 * that the peer knows that something is missing; bytes that the socket cannot take are not
 * delivered.
 */
void http_stream_cut(struct http_stream *s TAKES);

/* Bytes that the kernel has not taken yet. */
size_t http_stream_queued(const struct http_stream *s);
