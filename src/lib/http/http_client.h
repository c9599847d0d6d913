/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - requests to one server, over a few kept connections
 *
 * "http://HOST:PORT", "https://HOST:PORT" where there is a layer for it, or
 * "http+unix:///run/kiln/socket". A request takes a free
 * connection or opens one, up to the pool's size, and waits for one beyond it.
 * A stream keeps its connection for itself.
 *
 * A request whose kept connection turns out dead before a byte of an answer
 * came is sent once more, on a new one, if its method is safe or the request
 * says that it may be repeated.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/http/http.h"

struct bufferevent;
struct error;
struct event_base;
struct http_call;
struct http_client;
struct http_login;
struct http_endpoints;
struct loop;
struct workers;

/* Finds the addresses of a host's name (http_endpoint.h), and adds them; may
 * block, on any thread. 0 with one at least, or a negative errno with words
 * that name the host. Resolve: by the C library, as nsswitch.conf(5) says.
 */
typedef int http_resolve_fn(const char *host,
                            struct http_endpoints *places,
                            struct error *err);
int http_resolve(const char *host,
                 struct http_endpoints *places,
                 struct error *err);

/* The layer between a connected socket and HTTP, for "https://"
 * (lib/tls/tls_client.h). Make: begins the handshake with the host; the
 * descriptor is the bufferevent's then, or untouched where that is NULL. Why:
 * the handshake failed; static words.
 */
struct http_client_layer {
    struct bufferevent *(*make)(struct event_base *base,
                                int fd,
                                const char *host,
                                void *arg);
    const char *(*why)(struct bufferevent *bev);
    void *arg;
};

struct http_client_settings {
    unsigned connections;       /* 0: 8 */
    int64_t connect_ms;         /* 0: 10,000 */
    int64_t answer_ms;          /* 0: 60,000 without a byte; not for streams */
    size_t body_bytes;          /* 0: 256 MiB; a larger answer is an error */
    const char *server;         /* for messages, for good; "controller" */
    const char *server_program; /* for messages; NULL: "kiln-controller" */
    struct http_login *login;   /* http_login.h; NULL: none */
    http_resolve_fn *resolve;   /* a host's name; NULL: only addresses */
    struct workers *workers;    /* for that; NULL: on the spot, blocking */
    const char *as_user;        /* for good; asks as this user (the header
                                   Impersonate-User); NULL: as oneself */
    const struct http_client_layer *layer; /* for good; NULL: no TLS */
};

/* The response, borrowed while the callback runs. Header names compare without
 * regard to case. The body ends with a NUL that is not counted, and is empty if
 * `data` took it.
 */
struct http_response {
    int status;
    const char *content_type; /* "" if none */
    const char *body;
    size_t length;
    const struct http_header *headers;
    size_t n_headers;
};
const char *http_response_header(const struct http_response *answer,
                                 const char *name);

/* The request; all of it is copied. `done` runs once, later, and not after a
 * cancel; `answer` is NULL when there is none, and `err` then says why. With
 * `data`, the body of a 2xx answer comes through it piece by piece as it
 * arrives (after `started`, which may be NULL), and there is no time limit.
 * With a login, what comes through it has been proven.
 */
struct http_client_request {
    enum http_method method;
    const char *target;
    const struct http_header *headers;
    size_t n_headers;
    const char *content_type; /* NULL if no body */
    const void *body;
    size_t length;
    bool is_repeatable;
    void (*started)(const struct http_response *answer, void *arg);
    void (*data)(const void *bytes, size_t length, void *arg);
    void (*done)(const struct http_response *answer,
                 const struct error *err,
                 void *arg);
    void *arg;
};

/* Life. Free cancels all calls; not from inside one of their callbacks. New: 0,
 * or -EINVAL with words about the url (https without a layer is refused).
 * Nothing is connected yet. `settings` may be NULL.
 */
void http_client_free(struct http_client *client);
int http_client_new(struct loop *loop,
                    const char *url,
                    const struct http_client_settings *settings,
                    struct http_client **ret_client,
                    struct error *err);
DEFINE_CLEANUP(struct http_client, http_client_free)

/* Call. The handle is good until `done` or cancel, which any callback may do.
 */
struct http_call *http_client_call(struct http_client *client,
                                   const struct http_client_request *question);
void http_call_cancel(struct http_call *call);
