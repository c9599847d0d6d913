/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.h - requests to one server, over a few persistent connections
 *
 * "http://HOST:PORT", "https://HOST:PORT" if there is a TLS layer, or
 * "http+unix:///run/kiln/socket". A request uses a free connection or opens
 * one, up to the size of the pool; beyond that it waits for a free one. A
 * stream occupies its connection until it ends.
 *
 * If a persistent connection fails before the first byte of an answer, the
 * request is sent once more on a new one, provided that its method is safe or
 * the request is marked repeatable.
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

/* Resolves a host name and appends its addresses (http_endpoint.h). It may
 * block, and may run on any thread. 0 with at least one address, or a negative
 * errno with a text that names the host. Http_resolve uses the C library, as
 * nsswitch.conf(5) configures it.
 */
typedef int http_resolve_fn(const char *host, struct http_endpoints *places, struct error *err);
int http_resolve(const char *host, struct http_endpoints *places, struct error *err);

/* The layer between a connected socket and HTTP, for "https://"
 * (lib/tls/tls_client.h). Make begins the handshake with the host; the
 * bufferevent then owns the descriptor, which is untouched if the result is
 * NULL. Why returns the reason of a failed handshake, as a static text.
 */
struct http_client_layer {
    struct bufferevent *(*make)(struct event_base *base, int fd, const char *host, void *arg);
    const char *(*why)(struct bufferevent *bev);
    void *arg;
};

struct http_client_settings {
    unsigned connections;                  /* 0: 8 */
    int64_t connect_ms;                    /* 0: 10,000 */
    int64_t answer_ms;                     /* 0: 60,000 without a byte; not for streams */
    size_t body_bytes;                     /* 0: 256 MiB; a larger answer is an error */
    const char *server;                    /* for messages, not copied: "controller" */
    const char *server_program;            /* for messages; NULL: "kiln-controller" */
    struct http_login *login;              /* http_login.h; NULL: none */
    http_resolve_fn *resolve;              /* resolves names; NULL: only addresses */
    struct workers *workers;               /* call `resolve`; NULL: it blocks the loop */
    const char *as_user;                   /* not copied; the value of the header
                                 * Impersonate-User; NULL: no header */
    const struct http_client_layer *layer; /* not copied; NULL: no TLS */
};

/* The response, borrowed while the callback runs. Header names are compared
 * without case. The body ends with a NUL that is not counted, and is empty if
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
const char *http_response_header(const struct http_response *answer, const char *name);

/* The request; all of it is copied. `done` runs once, later, and not after a
 * cancel; `answer` is NULL when there is none, and `err` then gives the reason.
 * With `data`, the body of a 2xx answer is passed to it piece by piece as it
 * arrives (after `started`, which may be NULL), and there is no time limit.
 * With a login, the bytes passed to `data` were authenticated before.
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
    void (*done)(const struct http_response *answer, const struct error *err, void *arg);
    void *arg;
};

/* Life. Free cancels all calls; it must not be called inside one of their
 * callbacks. New: 0, or -EINVAL with a text about the url (https without a
 * layer is refused). New does not connect. `settings` may be NULL.
 */
void http_client_free(struct http_client *client);
int http_client_new(struct loop *loop, const char *url, const struct http_client_settings *settings,
                    struct http_client **ret_client, struct error *err);
DEFINE_CLEANUP(struct http_client, http_client_free)

/* Call. The handle is valid until `done` or cancel; any callback may cancel. */
struct http_call *http_client_call(struct http_client *client,
                                   const struct http_client_request *question);
void http_call_cancel(struct http_call *call);
