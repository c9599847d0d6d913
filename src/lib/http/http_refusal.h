/* SPDX-License-Identifier: Apache-2.0 */
/* http_refusal.h - answers to requests that never reach the handler
 *
 * A request that cannot be read or exceeds a limit is refused before a handler
 * can answer it: by evhttp, with an HTML page, or by the connection. The user
 * of the server chooses the body, so that clients find the same form as in
 * every other answer.
 *
 * Called by:  http_connection.c and http_request.c; nobody outside lib/http
 *             includes this.
 * Thread:     the loop's.
 */
#pragma once

#include "lib/http/http_server.h"

struct strbuf;

struct http_refusals {
    const struct http_limits *limits;
    http_refusal_fn body; /* NULL: the reason as plain text */
    void *arg;
};

/* Writes a complete answer, head and body, that ends the connection. */
void http_refusal_write(const struct http_refusals *refusals, int status, struct strbuf *out);

/* Writes only the body. Returns its content type. */
const char *http_refusal_body(const struct http_refusals *refusals, int status, const char *why,
                              struct strbuf *out);
