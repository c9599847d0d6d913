/* SPDX-License-Identifier: Apache-2.0 */
/* http_reader.h - parses one answer from the bytes of a connection
 *
 * Strict about where the answer ends (RFC 9112, 6.3): contradicting lengths, an
 * unknown transfer coding or a malformed chunk are errors.
 *
 * Called by: http_client_connection.c.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/http/http.h"

struct error;
struct evbuffer;

enum http_reader_state {
    HTTP_READER_HEAD,
    HTTP_READER_BODY,  /* `left` bytes of the body or of a chunk */
    HTTP_READER_CHUNK, /* the line with the size of a chunk */
    HTTP_READER_CHUNK_END,
    HTTP_READER_TRAILER,
    HTTP_READER_UNTIL_CLOSE,
    HTTP_READER_DONE,
};

/* The callbacks must not free the reader. If a callback returns a negative
 * errno, reading ends with that error.
 */
struct http_reader {
    enum http_reader_state state;
    bool is_to_head; /* answer to HEAD: no body, whatever the headers say */
    bool closes;     /* the connection ends after this answer */
    bool is_chunked;
    uint64_t left;
    int status;
    char *text; /* the head; `headers` point into it */
    struct http_header *headers;
    size_t n_headers;
    int (*on_head)(void *arg);
    int (*on_body)(const void *bytes, size_t length, void *arg);
    void *arg;
};

/* Life. Begin prepares the reader for the next answer. */
void http_reader_fini(struct http_reader *r);
void http_reader_begin(struct http_reader *r, bool is_to_head);

/* Consumes the bytes in `input`: 0, also when the answer is incomplete (see the
 * state), or a negative errno with a text.
 */
int http_reader_read(struct http_reader *r, struct evbuffer *input, struct error *err);

/* Call this when the peer has closed: 0 if that completes the answer. */
int http_reader_close(struct http_reader *r);

const char *http_reader_header(const struct http_reader *r, const char *name);
