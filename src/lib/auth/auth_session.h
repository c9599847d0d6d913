/* SPDX-License-Identifier: Apache-2.0 */
/* auth_session.h - what a credential opened, for the connection it came on
 *
 * Called by:  auth_server.c and auth_grant.c alone; others hold the pointer.
 * Owns:       a reference to its user.
 * Thread:     the loop's.
 * Invariant:  a sequence number is accepted once, and none below it later.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/auth/auth_server.h"
#include "lib/auth/protocol.h"

struct user;

struct auth_session {
    unsigned references; /* the connection's, and one for each grant */
    size_t *count;       /* of the server's sessions */
    char id[PROTOCOL_NONCE_SIZE];
    struct digest key;
    uint64_t last_seq;
    bool is_sealed;     /* its request was of version 2 */
    int64_t ends_at_us; /* monotonic */
    struct identity identity;
};

/* Life. Takes a reference of its own to the user. */
struct auth_session *auth_session_new(size_t *count,
                                      const struct user *user,
                                      uid_t uid,
                                      gid_t gid,
                                      int64_t ends_at_us) MUST_USE;
struct auth_session *auth_session_ref(struct auth_session *s);

/* Check one request: 0, or -EKEYREJECTED with words. Changes the sequence
 * only when all is right.
 */
int auth_session_check(struct auth_session *s,
                       const struct auth_request *q,
                       int64_t now_us,
                       struct error *err);
