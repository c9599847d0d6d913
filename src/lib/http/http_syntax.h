/* SPDX-License-Identifier: Apache-2.0 */
/* http_syntax.h - checks requests by RFC 9112 where evhttp is more lenient than
 * is safe
 *
 * A proxy in front of the server may parse such a request differently, so that
 * another client's request starts where the server does not expect it (request
 * smuggling). Refused are: bare LF and CR, NUL and other control characters in
 * a head, folded lines, invalid header names (a blank before the colon), a second
 * Host, Content-Length or Transfer-Encoding, and lengths of bodies and chunks that are not plain numbers. All bytes that a
 * connection receives are checked, after TLS; bytes of bodies are only counted.
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
    bool has_cr; /* the previous byte was CR */
    bool is_chunked;
    bool is_trailer;
    bool has_digits;
    bool has_host, has_length, has_coding; /* in this head */
    uint64_t left;                         /* of the body or chunk */
    char name[24];                         /* of a header: its first bytes, in lower case */
    char value[24];
    unsigned name_length, value_length;
    const char *fault; /* NULL: none; otherwise checking has stopped */
};

/* Initialize the struct with zeros. */
void http_syntax_feed(struct http_syntax *s, const char *bytes, size_t length);

/* The number of next bytes that belong to a body and may be skipped. */
uint64_t http_syntax_passes(const struct http_syntax *s);
void http_syntax_pass(struct http_syntax *s, uint64_t length);
