/* SPDX-License-Identifier: Apache-2.0 */
/* http_request.h - one request at the server, until it is answered
 *
 * The handler answers exactly once, at once or later, with http_request_reply*
 * or http_request_stream; that ends the request. Results of the accessors are
 * borrowed until then. If the client disconnects first, the request stays valid
 * and its answer is discarded.
 *
 * Thread: the server's loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"
#include "lib/http/http.h"

struct http_request;
struct http_stream;

/* The peer of a connection. On a Unix socket the ids are from SO_PEERCRED, of
 * the time when it connected.
 */
struct http_peer {
    bool is_local;  /* a Unix socket; the three ids are set */
    bool is_secure; /* encrypted by a layer such as TLS */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    char address[64]; /* "192.0.2.7:40112", "[2001:db8::1]:40112", "unix" */
};

/* The target is as the client wrote it; path and query are decoded.
 * Header names are compared without case. The body ends with a NUL that is not
 * counted.
 */
enum http_method http_request_method(const struct http_request *r);
const char *http_request_target(const struct http_request *r);
const char *http_request_path(const struct http_request *r);
const char *http_request_query(const struct http_request *r, const char *name);
bool http_request_query_next(const struct http_request *r, size_t *at, const char **ret_name,
                             const char **ret_value);
const char *http_request_header(const struct http_request *r, const char *name);
bool http_request_header_next(const struct http_request *r,
                              const void **at, /* *at is NULL at first */
                              const char **ret_name, const char **ret_value);
const char *http_request_body(const struct http_request *r, size_t *ret_length);
const struct http_peer *http_request_peer(const struct http_request *r);

/* The connection: a slot for data that belongs to it (a session). Setting the
 * slot frees the previous data; closing the connection
 * frees the last; with a `free_data` of NULL nothing is freed. When the client
 * has disconnected, Set only frees the new data.
 */
void *http_request_connection_data(const struct http_request *r);
void http_request_set_connection_data(struct http_request *r, void *data,
                                      void (*free_data)(void *data));

/* Sets the account of the connection, which from now on counts for the account
 * instead of for its address. The first account is kept. False when the account
 * already has `most` connections (0: no limit): nothing changes then, and the
 * connection stays among those that the server closes first when it has too
 * many.
 */
bool http_request_charge(struct http_request *r, const char *account, unsigned most);

/* `fn` is called once if the client disconnects before the answer, never after
 * the answer. One function at a time; NULL removes it.
 */
void http_request_on_close(struct http_request *r, void (*fn)(struct http_request *r, void *arg),
                           void *arg);
bool http_request_is_closed(const struct http_request *r);

/* Reply. Add the headers first, any number of them (name and value are copied;
 * the server sets Content-Length, Date and Connection). `content_type` may be
 * NULL when there is no body. A HEAD gets only the headers. Close_after: the
 * connection ends with this answer.
 */
void http_request_add_header(struct http_request *r, const char *name, const char *value);
void http_request_close_after(struct http_request *r);
void http_request_reply(struct http_request *r TAKES, int status, const char *content_type,
                        const void *body, size_t length);
void http_request_reply_pieces(struct http_request *r TAKES, int status, const char *content_type,
                               const struct http_piece *pieces, size_t n_pieces);

/* Starts a stream instead of a reply: sends the headers at once. See
 * http_stream.h.
 */
struct http_stream *http_request_stream(struct http_request *r TAKES, int status,
                                        const char *content_type);
