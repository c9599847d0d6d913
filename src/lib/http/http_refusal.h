/* SPDX-License-Identifier: Apache-2.0 */
/* http_refusal.h - what is told to a client whose request never gets through
 *
 * A request that cannot be read, or is too much, is refused before there is a
 * handler to answer it: by evhttp, with a page of HTML, or by the connection.
 * The body is the server's user's to choose, so that clients find the same
 * form as in every other answer.
 *
 * Called by:  http_connection.c and http_request.c; nobody outside lib/http
 *             includes this.
 * Thread:     the loop's.
 */
#pragma once

struct http_connection;
struct http_server;
struct strbuf;

/* A whole answer, head and body, that ends the connection. */
void
http_refusal_write(struct http_server *server, int status, struct strbuf *out);

/* The body alone. Returns its content type. */
const char *http_refusal_body(struct http_server *server,
                              int status,
                              const char *why,
                              struct strbuf *out);

/* Evhttp has put something into the output of a connection whose request was
 * not handed on: an error page is replaced before it is sent.
 */
void http_refusal_note(struct http_connection *c);
void http_refusal_replace_all(struct http_server *server);
