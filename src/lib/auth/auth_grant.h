/* SPDX-License-Identifier: Apache-2.0 */
/* auth_grant.h - an authenticated request, and how its answer is authenticated
 *
 * The server makes grants with these calls; auth_server.h declares what its
 * callers do with a grant.
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

/* The parts of the server that a grant uses; the server outlives the grant. */
struct auth_method {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    char *cluster;
};

/* Life. Each call takes its own references to what it is given. */
struct auth_grant *auth_grant_new_local(const struct user *user, uid_t uid, gid_t gid) MUST_USE;
struct auth_grant *auth_grant_new_token(const struct user *user, uid_t uid, gid_t gid) MUST_USE;
struct auth_grant *auth_grant_new_session(struct auth_session *s) MUST_USE;
struct auth_grant *auth_grant_new_credential(const struct auth_method *means,
                                             const struct user *user, uid_t uid, gid_t gid,
                                             const char *nonce, bool seals_headers) MUST_USE;
