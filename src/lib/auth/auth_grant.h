/* SPDX-License-Identifier: Apache-2.0 */
/* auth_grant.h - a request that was let in, and how its answer is proven
 *
 * The server makes grants with it as auth_server.h promises them.
 *
 * Called by: auth_server.c.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>

#include <stdint.h>

#include "lib/auth/auth_server.h"
#include "lib/auth/protocol.h"

struct auth_session;
struct user;

/* The parts of the server that a grant uses; the server outlives it. */
struct auth_method {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    char *cluster;
};

/* Life. Each takes references of its own. */
struct auth_grant *
auth_grant_new_local(const struct user *user, uid_t uid, gid_t gid) MUST_USE;
struct auth_grant *
auth_grant_new_token(const struct user *user, uid_t uid, gid_t gid) MUST_USE;
struct auth_grant *auth_grant_new_session(struct auth_session *s) MUST_USE;
struct auth_grant *auth_grant_new_credential(const struct auth_method *means,
                                             const struct user *user,
                                             uid_t uid,
                                             gid_t gid,
                                             const char *nonce,
                                             bool seals_headers) MUST_USE;
