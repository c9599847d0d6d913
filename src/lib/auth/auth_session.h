/* SPDX-License-Identifier: Apache-2.0 */
/* auth_session.h - a session: opened by a credential, valid for the connection
 * that opened it
 *
 * Called by:  auth_server.c and auth_grant.c only; others hold the pointer.
 * Owns:       a reference to its user.
 * Thread:     the loop's.
 * Invariant:  a sequence number is accepted only if it is above the last one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/auth/auth_server.h"
#include "lib/auth/protocol.h"

struct user;

struct auth_session {
    unsigned references; /* one of the connection and one of each grant */
    size_t *count;       /* the server's count of sessions */
    char id[PROTOCOL_NONCE_SIZE];
    struct digest key;
    uint64_t last_seq;
    bool is_sealed;     /* the request that opened it was of version 2 */
    int64_t ends_at_us; /* monotonic */
    struct identity identity;
};

/* Life. Takes its own reference to the user. */
struct auth_session *auth_session_new(size_t *count, const struct user *user, uid_t uid, gid_t gid,
                                      int64_t ends_at_us) MUST_USE;
struct auth_session *auth_session_ref(struct auth_session *s);

/* Checks one request: 0, or -EKEYREJECTED with a text. Only a request that
 * passes all checks changes the sequence number.
 */
int auth_session_check(struct auth_session *s, const struct auth_request *q, int64_t now_us,
                       struct error *err);
