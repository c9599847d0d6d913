/* SPDX-License-Identifier: Apache-2.0 */
/* http_connection.h - a client connection at the server, from accept to close
 *
 * Declarations that the server's own files share; nobody outside lib/http
 * includes this header.
 *
 * Owns:      the peer's place in the server's counts, and the user's data.
 * Thread:    the loop's.
 * Invariant: linked in server->phases[phase] while it is open, the longest in
 *            that phase first (of STREAMING in no order).
 *
 *     IDLE -> RECEIVING -> HANDLING -> SENDING -> IDLE
 *                              \-> STREAMING -/
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event_struct.h>

#include "lib/base/list.h"
#include "lib/http/http_refusal.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/http/http_stream.h"
#include "lib/http/http_syntax.h"
#include "lib/http/target.h"

struct evbuffer;
struct evhttp;
struct evhttp_connection;
struct evhttp_request;
struct map;

enum http_phase {
    HTTP_IDLE,
    HTTP_RECEIVING,
    HTTP_HANDLING,
    HTTP_SENDING,
    HTTP_STREAMING,
    HTTP_PHASES,
};

enum http_close_cause {
    HTTP_NOT_CLOSING,
    HTTP_TOO_LARGE,
    HTTP_TOO_MUCH_IN_FLIGHT,
    HTTP_TOO_SLOW,
    HTTP_CUT_SHORT, /* by the producer of the stream */
};

/* The connections that count for one address, or one account. */
struct http_peer_count {
    unsigned connections;
    struct list unproven; /* of an address: its connections, oldest first */
    int64_t said_at_ms;   /* when the log last said that there are too many */
    char key[];
};

struct http_connection {
    unsigned references;        /* one while open, one of the request */
    struct http_server *server; /* NULL when closed */
    struct loop *loop;
    struct bufferevent *bev;
    struct evhttp_connection *ev;
    int fd;
    struct list place; /* in a phase, or in server->fresh */
    struct list closing_place;
    struct list refused_place;
    bool is_refused; /* its error page is ours */
    enum http_phase phase;
    enum http_close_cause close_cause;
    int64_t since_ms; /* entered this phase, or last read some of its answer */
    struct http_preface_wait *preface_wait; /* until its first bytes are there; or NULL */
    size_t preface_seen;
    struct http_syntax syntax;
    size_t received; /* bytes of the current request, counted in inflight */
    struct http_peer peer;
    struct http_peer_count *peer_count;
    bool is_charged;              /* counts for an account */
    struct list unproven_place;   /* until it is charged: in server->unproven */
    struct list of_peer_place;    /* and in peer_count->unproven */
    struct http_request *request; /* the unanswered one, or NULL */
    struct http_stream *stream;   /* or NULL */
    void *data;
    void (*free_data)(void *data);
    bool is_being_cut; /* evhttp_connection_free is running */
    struct evhttp_request *orphan;
};

struct http_request {
    struct http_connection *connection; /* holds a reference */
    struct evhttp_request *ev;
    enum http_method method;
    struct target target;
    const char *body;
    size_t body_length;
    bool is_closed;
    bool closes_after;
    void (*on_close)(struct http_request *r, void *arg);
    void *on_close_arg;
};

struct http_stream {
    struct http_connection *connection; /* NULL once it has closed */
    struct evhttp_request *ev;
    struct loop *loop;
    bool is_framed;  /* the server makes its chunks, not evhttp */
    bool is_telling; /* `closed` is scheduled on the loop */
    bool is_ended;   /* it has ended, so `closed` must not be called */
    struct http_stream_callbacks callbacks;
};

struct http_preface_wait;

struct http_server_counts {
    size_t connections;
    size_t streams;
    size_t inflight_bytes;
    uint64_t requests; /* passed to the handler, in total */
    uint64_t refused_connections;
    uint64_t cut_connections; /* too slow, or too much in flight */
    uint64_t dropped_streams;
};

struct http_server {
    struct loop *loop;
    struct evhttp *evhttp;
    struct evhttp *layered; /* for listeners under the layer; or NULL */
    struct http_layer layer;
    struct http_limits limits;
    http_server_fn handler;
    void *arg;
    struct http_refusals refusals;
    struct http_preface preface; /* length 0: none */
    struct evbuffer *scratch;    /* the answer being composed; otherwise empty */
    struct event deferred;       /* activated to adopt fresh connections, and so
                               * on */
    struct event sweep;
    struct list fresh; /* accepted, not yet adopted */
    struct list closing;
    struct list refused; /* evhttp's error page must be replaced */
    struct list phases[HTTP_PHASES];
    struct list listeners;
    struct list layered_listeners;
    struct map *peers;
    struct list unproven; /* connections without an account, oldest first */
    int64_t said_at_ms;   /* when the log last said that there are too many in
                         * all */
    struct http_connection **by_fd;
    size_t n_by_fd;
    bool is_paused; /* nothing is accepted any more */
    bool is_ending;
    int64_t date_s;
    char date[32];
    struct http_server_counts counts;
};

/* In http_connection.c. Adopt takes over fresh connections and refuses those
 * above a limit. Close closes at once; inside evhttp's callbacks call close_later instead.
 */
struct bufferevent *http_connection_make(struct event_base *base, void *server);
struct bufferevent *http_connection_make_layered(struct event_base *base, void *server);
void http_connection_adopt_all(struct http_server *server);
void http_connection_set_data(struct http_connection *c, void *data, void (*free_data)(void *data));
bool http_connection_charge(struct http_connection *c, const char *account, unsigned most);
void http_connection_enter(struct http_connection *c, enum http_phase phase);
void http_connection_close_later(struct http_connection *c, enum http_close_cause close_cause);
void http_connection_close(struct http_connection *c);
void http_connection_close_marked(struct http_server *server);
void http_connection_sweep(struct http_server *server);
void http_connection_unref(struct http_connection *c);
struct http_connection *http_connection_of(struct http_server *server, struct evhttp_request *ev);

/* Bytes from the client. Limit: reads at most READ_AHEAD_BYTES while a request is answered.
 * Release: the request is answered, so its bytes count no longer. Replace_refusals: the error
 * pages that evhttp has written are replaced before they are sent.
 */
void http_connection_limit_input(struct http_connection *c);
void http_connection_release_input(struct http_connection *c);
void http_connection_watch_for_close(struct http_connection *c);
void http_connection_replace_refusals(struct http_server *server);

/* In http_request.c and http_stream.c. */

/* Is evhttp's callback for a request. */
void http_request_handle(struct evhttp_request *ev, void *server);

/* The client has disconnected before the answer. */
void http_request_closed(struct http_request *r);

/* The client has disconnected before the end of the stream. */
void http_stream_closed(struct http_stream *s, enum http_stream_end_reason reason);

/* Appends pieces to `out`, the server's scratch buffer. */
void http_request_add_pieces(struct evbuffer *out, const struct http_piece *pieces,
                             size_t n_pieces);

/* Frees a request that evhttp left to the server. */
void http_request_free_orphan(struct http_connection *c, struct evhttp_request *ev);
