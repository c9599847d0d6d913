/* SPDX-License-Identifier: Apache-2.0 */
/* http_syntax.h - the bytes of requests as RFC 9112 has them, where evhttp is
 * more lenient than is safe
 *
 * A proxy in front may read such a request otherwise than we do, and so have
 * somebody else's begin where we do not expect it. Refused: bare LF and CR, NUL
 * and other control characters in a head, folded lines, names of headers that
 * are none (a blank before the colon), and lengths of bodies and chunks that
 * are not plain numbers. Every byte that a connection receives passes by, after
 * TLS; bodies are only counted.
 *
 * Thread: any.
 * Source: RFC 9112, 2.2, 5 and 7.1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_syntax {
    enum {
        HTTP_SYNTAX_BEFORE, /* empty lines before a request */
        HTTP_SYNTAX_FIRST_LINE,
        HTTP_SYNTAX_LINE_START,
        HTTP_SYNTAX_NAME,
        HTTP_SYNTAX_VALUE,
        HTTP_SYNTAX_BODY,
        HTTP_SYNTAX_CHUNK_SIZE,
        HTTP_SYNTAX_CHUNK_OPTION,
        HTTP_SYNTAX_CHUNK,
        HTTP_SYNTAX_CHUNK_END,
    } state;
    bool has_cr; /* the byte before was one */
    bool is_chunked;
    bool is_trailer;
    bool has_digits;
    uint64_t left; /* of the body or chunk */
    char name[24]; /* of a header, as far as it is looked at, in lower case */
    char value[24];
    unsigned name_length, value_length;
    const char *fault; /* NULL: none; then nothing more is looked at */
};

/* Begins zeroed. */
void http_syntax_feed(struct http_syntax *s, const char *bytes, size_t length);

/* So many bytes may be passed over, since they are of a body. */
uint64_t http_syntax_passes(const struct http_syntax *s);
void http_syntax_pass(struct http_syntax *s, uint64_t length);
