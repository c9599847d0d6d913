/* SPDX-License-Identifier: Apache-2.0 */
/* http_client_connection.h - one connection of a client and its calls
 *
 * Called by:  http_client.c, which holds the pool; nobody outside lib/http.
 * Thread:     the loop's.
 * Invariant:  a call is either in client->waiting or on one link.
 *
 *     CONNECTING -> READY -> BUSY -> READY
 *                     \-> LOGIN -/     before the first call that needs one
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event_struct.h>

#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/http/connection_login.h"
#include "lib/http/http_address.h"
#include "lib/http/http_client.h"
#include "lib/http/http_reader.h"

struct arena;
struct auth_frames;
struct bufferevent;
struct http_dial;

struct http_client {
    struct loop *loop;
    struct http_client_settings settings;
    char *server_program;
    struct http_address address;
    unsigned first_host;   /* of the address: that which answered last, or the next one */
    struct event deferred; /* assigns waiting calls to links */
    struct list links;
    struct list waiting;
};

struct http_call {
    struct http_client *client;
    struct http_client_connection *link; /* NULL while the call waits */
    struct arena *arena;                 /* memory of `question` and of this struct */
    struct list place;
    struct http_client_request question;
    struct login_ticket ticket;
    struct strbuf body;
    struct auth_frames *frames; /* of a stream with a login */
    bool is_streaming;
    bool was_repeated;
};

enum http_client_connection_state {
    HTTP_CLIENT_CONNECTION_CONNECTING,
    HTTP_CLIENT_CONNECTION_READY,
    HTTP_CLIENT_CONNECTION_LOGIN,
    HTTP_CLIENT_CONNECTION_BUSY,
};

struct http_client_connection {
    struct http_client *client;
    struct list place;
    enum http_client_connection_state state;
    struct http_dial *dial; /* while CONNECTING; NULL otherwise */
    unsigned host;          /* of the address, once it is connected */
    struct bufferevent *bev;
    struct event timer;
    struct http_reader reader;
    struct connection_login *login; /* or NULL */
    struct http_call *call;
    struct strbuf login_body;
    uint64_t n_answers;
    bool is_awaiting;                   /* for an answer */
    bool is_reading;                    /* the reader is running: do not free the link */
    struct auth_frames *unfreed_frames; /* of a call cancelled by its own callback */
    bool closes_later;
};

/* Life. Open adds a link to the pool and starts connecting; on failure it fails
 * all waiting calls.
 */
void http_client_connection_free(struct http_client_connection *c);
void http_client_connection_open(struct http_client *client);

/* Assigns a call to a READY link. Drop removes the call without `done`. */
void http_client_connection_take(struct http_client_connection *c, struct http_call *call);
void http_client_connection_drop(struct http_client_connection *c);
bool http_client_connection_is_usable(const struct http_client_connection *c);

/* In http_client.c. http_call_done runs `done` and frees the call. Retry puts the call at the
 * front of the queue. Schedule assigns waiting calls later, from the loop.
 */
void http_call_done(struct http_call *call, const struct http_response *answer,
                    const struct error *err);
void http_call_retry(struct http_call *call);
void http_client_fail_waiting(struct http_client *client, const struct error *err);
void http_client_schedule(struct http_client *client);
int http_client_unreachable(struct http_client *client, int r, const char *why, struct error *err);
