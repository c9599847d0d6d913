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

struct http_connection;
struct http_server;
struct strbuf;

/* Writes a complete answer, head and body, that ends the connection. */
void http_refusal_write(struct http_server *server, int status, struct strbuf *out);

/* Writes only the body. Returns its content type. */
const char *http_refusal_body(struct http_server *server, int status, const char *why,
                              struct strbuf *out);

/* Call this when evhttp has written to the output of a connection whose request
 * was not passed on: an error page is replaced before it is sent.
 */
void http_refusal_note(struct http_connection *c);
void http_refusal_replace_all(struct http_server *server);
