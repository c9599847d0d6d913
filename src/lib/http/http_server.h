/* SPDX-License-Identifier: Apache-2.0 */
/* http_server.h - HTTP/1.1 for many clients on one loop
 *
 * The server reads requests within its limits and passes each to one handler,
 * which answers at once or later (see http_request.h). Clients that are too
 * slow, too many or too big are disconnected without harm to the others.
 *
 * Thread:     the loop's.
 * Invariant:  a connection has at most one request under way.
 * See:        README.md for what evhttp does underneath, and what it cannot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct bufferevent;
struct error;
struct event_base;
struct http_request;
struct http_server;
struct loop;
struct strbuf;

/* Limits beyond which a request is refused. 0 means the default, which is given
 * with each member.
 */
struct http_limits {
    size_t header_bytes;       /* 64 KiB; more is 400 */
    size_t body_bytes;         /* 16 MiB; more is 413 */
    size_t inflight_bytes;     /* 256 MiB: bodies of all connections; above: 503 */
    size_t queued_bytes;       /* 8 MiB: unread part of a stream; above: dropped */
    unsigned connections;      /* 20,000 */
    unsigned peer_connections; /* 4,096 without an account (see
                                * http_request_charge), of one address, or of
                                * one uid if local */
    int64_t receive_ms;        /* 30,000: first byte to the end of a request */
    int64_t idle_ms;           /* 120,000: between requests; not for streams */
    int64_t unproven_ms;       /* 10,000: the same, without an account */
    int64_t send_ms;           /* 30,000: without the peer reading any of an answer */
};

typedef void (*http_server_fn)(struct http_request *request, void *arg);

/* Life. `limits` may be NULL. Free closes all connections; unanswered requests
 * stay valid and must still be answered (the answers are discarded), and
 * `closed` is called for streams.
 */
void http_server_free(struct http_server *server);
struct http_server *http_server_new(struct loop *loop, const struct http_limits *limits,
                                    http_server_fn handler, void *arg) OWNED_BY(http_server_free);
DEFINE_CLEANUP(struct http_server, http_server_free)

/* Writes the body of the answer to a request that never reaches the handler,
 * because it cannot be read or exceeds a limit; returns the body's content
 * type. Without such a function the body is `why` as plain text. `arg` is the
 * handler's.
 */
typedef const char *(*http_refusal_fn)(int status, const char *why, struct strbuf *body, void *arg);
void http_server_set_refusal_text(struct http_server *server, http_refusal_fn fn);

/* A connection to a TCP listener may begin with a preface of `length` bytes (256 at most), by
 * which a relay tells for whom it connects. Check writes the address of that client, in the
 * form of http_peer, or returns false: the connection is closed. Set it before listening.
 */
struct http_preface {
    const void *signature; /* no request and no TLS begins like it */
    size_t signature_length;
    size_t length;
    bool (*check)(const unsigned char *bytes, char ret_address[64], void *arg);
    void *arg;
};
void http_server_set_preface(struct http_server *server, const struct http_preface *preface);

/* Listen on "127.0.0.1:6820", "[::]:6820", "*:6820" (both families),
 * port 0 for any free one; or on a Unix socket with the given mode, which
 * replaces a socket file that nobody listens on. Several may be open. 0 or a
 * negative errno. Pause stops accepting; existing connections are still served.
 * Check_address: -EINVAL for an address that listen would refuse by its syntax.
 * Is_loopback: only this host can reach the address.
 */
int http_server_check_address(const char *address, struct error *err);
bool http_server_is_loopback(const char *address);
int http_server_listen(struct http_server *server, const char *address, struct error *err);
/* Listens under another layer, such as TLS: `make` makes the bufferevent of
 * each connection, which closes its descriptor when it is freed. A server has
 * at most one such layer. Its peers are secure.
 */
struct http_layer {
    struct bufferevent *(*make)(struct event_base *base, void *arg);
    void *arg;
};
int http_server_listen_layered(struct http_server *server, const char *address,
                               const struct http_layer *layer, struct error *err);
int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                            struct error *err);
void http_server_pause(struct http_server *server);

/* Port: that of the first plain TCP listener, 0 if none. Layered_port: of the
 * first listener under the layer.
 */
int http_server_port(const struct http_server *server);
int http_server_layered_port(const struct http_server *server);
