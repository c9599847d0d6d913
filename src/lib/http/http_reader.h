/* SPDX-License-Identifier: Apache-2.0 */
/* http_reader.h - one answer out of the bytes of a connection
 *
 * Strict about where the answer ends (RFC 9112, 6.3): contradicting lengths,
 * an unknown transfer coding or a malformed chunk are errors.
 *
 * Called by: http_client.c.
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
    HTTP_READER_BODY,  /* `left` bytes of it, or of a chunk */
    HTTP_READER_CHUNK, /* the line with its size */
    HTTP_READER_CHUNK_END,
    HTTP_READER_TRAILER,
    HTTP_READER_UNTIL_CLOSE,
    HTTP_READER_DONE,
};

/* The callbacks may not free the reader. A negative errno from one ends the
 * reading with it.
 */
struct http_reader {
    enum http_reader_state state;
    bool is_to_head; /* no body, whatever the headers say */
    bool closes;     /* the connection ends with this answer */
    bool is_chunked;
    uint64_t left;
    int status;
    char *text; /* of the head; headers point into it */
    struct http_header *headers;
    size_t n_headers;
    int (*on_head)(void *arg);
    int (*on_body)(const void *bytes, size_t length, void *arg);
    void *arg;
};

/* Life. Begin makes it ready for the next answer. */
void http_reader_fini(struct http_reader *r);
void http_reader_begin(struct http_reader *r, bool is_to_head);

/* Takes what there is from `input`: 0, also when the answer is not complete
 * (look at the state), or a negative errno with words.
 */
int http_reader_read(struct http_reader *r,
                     struct evbuffer *input,
                     struct error *err);

/* The peer has closed: 0 if the answer is complete by that. */
int http_reader_close(struct http_reader *r);

/* Look */
const char *http_reader_header(const struct http_reader *r, const char *name);
