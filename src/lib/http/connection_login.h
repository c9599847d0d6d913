/* SPDX-License-Identifier: Apache-2.0 */
/* connection_login.h - the login of one connection of the client
 *
 * Called by: http_client_connection.c.
 * Thread:    the loop's; the login's workers, if any, do the work that blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/auth/protocol.h"
#include "lib/base/macro.h"
#include "lib/http/http_login.h"

struct auth_frames;
struct error;
struct http_response;
struct http_client_request;
struct connection_login;
struct strbuf;

/* Life. `ready` is called, later, when a hello or a welcome is done, with NULL
 * or the error; never after free.
 */
typedef void (*login_ready_fn)(const struct error *err, void *arg);
void connection_login_free(struct connection_login *l);
struct connection_login *connection_login_new(struct http_login *login, login_ready_fn ready,
                                              void *arg) OWNED_BY(connection_login_free);

/* Opens a session: hello, then POST its Authorization to
 * PROTOCOL_SESSION_TARGET, then welcome with the credential of the answer.
 */
void connection_login_hello(struct connection_login *l);
const char *connection_login_authorization(const struct connection_login *l);
void connection_login_welcome(struct connection_login *l, const char *credential);

/* A session is stale when most of its lifetime has passed. */
bool connection_login_needs_session(const struct connection_login *l, bool is_stream);
bool connection_login_has_session(const struct connection_login *l);
bool connection_login_is_stale(const struct connection_login *l);

/* Signs one request and checks its answer. The ticket links the two. */
struct login_ticket {
    bool is_once;
    uint64_t seq;
    char nonce[PROTOCOL_NONCE_SIZE];
};
int connection_login_sign(struct connection_login *l, const struct http_client_request *q,
                          struct login_ticket *ret_ticket, struct strbuf *ret_authorization,
                          struct error *err);
int connection_login_check(struct connection_login *l, const struct login_ticket *ticket,
                           const struct http_response *answer, struct error *err);
struct auth_frames *connection_login_frames(struct connection_login *l,
                                            const struct login_ticket *ticket,
                                            void (*fn)(const void *bytes, size_t length, void *arg),
                                            void *arg);
