/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - constants and types of HTTP/1.1 that both sides use
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
};

struct http_header {
    const char *name;
    const char *value;
};

/* A piece of a body that is sent without a copy: `release` is called once, on
 * the loop's thread, when the bytes are no longer needed, which may be before
 * the call that took the piece returns. With `release` NULL the bytes are
 * copied.
 */
struct http_piece {
    const void *bytes;
    size_t length;
    void (*release)(const void *bytes, size_t length, void *arg);
    void *arg;
};

/* "GET"; "Not Found", or "Unknown" for a status that has no phrase. */
const char *http_method_name(enum http_method method);
const char *http_status_phrase(int status);
