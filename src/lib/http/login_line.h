/* SPDX-License-Identifier: Apache-2.0 */
/* login_line.h - a login on one connection of the client
 *
 * Called by: http_link.c.
 * Thread:    the loop's; what blocks is done by the login's workers, if any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/auth/protocol.h"
#include "lib/base/macro.h"
#include "lib/http/http_login.h"

struct auth_frames;
struct error;
struct http_answer;
struct http_question;
struct login_line;
struct strbuf;

/* Life. `ready` is called, later, when a hello or a welcome is done, with NULL
 * or the error; never after free.
 */
typedef void (*login_ready_fn)(const struct error *err, void *arg);
void login_line_free(struct login_line *l);
struct login_line *login_line_new(struct http_login *login,
                                  login_ready_fn ready,
                                  void *arg) OWNED_BY(login_line_free);

/* Open a session: hello, then POST its authorization to
 * PROTOCOL_SESSION_TARGET, then welcome with the answer's credential.
 */
void login_line_hello(struct login_line *l);
const char *login_line_authorization(const struct login_line *l);
void login_line_welcome(struct login_line *l, const char *credential);

/* Look. A session is stale when most of its lifetime is over. */
bool login_line_needs_session(const struct login_line *l, bool is_stream);
bool login_line_has_session(const struct login_line *l);
bool login_line_is_stale(const struct login_line *l);

/* One request. The ticket says which answer belongs to it. */
struct login_ticket {
    bool is_once;
    uint64_t seq;
    char nonce[PROTOCOL_NONCE_SIZE];
};
int login_line_sign(struct login_line *l,
                    const struct http_question *q,
                    struct login_ticket *ret_ticket,
                    struct strbuf *ret_authorization,
                    struct error *err);
int login_line_check(struct login_line *l,
                     const struct login_ticket *ticket,
                     const struct http_answer *answer,
                     struct error *err);
struct auth_frames *
login_line_frames(struct login_line *l,
                  const struct login_ticket *ticket,
                  void (*fn)(const void *bytes, size_t length, void *arg),
                  void *arg);
