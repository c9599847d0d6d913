/* SPDX-License-Identifier: Apache-2.0 */
/* auth_inquiry.h - a request to the auth server while a worker authenticates
 * it: the parts of the request and the worker's results
 *
 * Called by: auth_server.c.
 * Thread:    the loop's; one worker's between submission and conclusion.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/auth/auth_grant.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/protocol.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct auth_session;
struct bearer_tokens;
struct nonces;
struct recent_users;
struct user;

struct auth_server {
    struct auth_method means;
    struct clock *clock;
    int64_t session_ms;
    size_t most_sessions;
    size_t n_sessions;
    uid_t own_uid; /* the uid that credentials must be restricted to */
    auth_verifier_fn verifier;
    void *verifier_arg;
    struct bearer_tokens *bearer;
    struct recent_users *users;
    struct nonces *nonces;
    int64_t leads_since_us; /* by the clock; INT64_MIN: credentials of any age are taken */
};

struct auth_inquiry {
    struct auth_server *server;
    char *text; /* the credential; NULL for a local peer */
    uid_t uid;
    gid_t gid;
    enum identity_proof proof; /* how a peer without a credential is
                                * authenticated */
    char *method;
    char *target;
    char *content_type;
    char body[DIGEST_HEX_SIZE];
    char headers[DIGEST_HEX_SIZE]; /* digest of the sealed headers */
    auth_check_fn check_fn;
    auth_open_fn open_fn;
    void *arg;
    struct credential credential;
    const struct user *user;
    struct auth_session *session;
    struct strbuf welcome;
    char *answer;
    struct error error;
};

void auth_inquiry_free(struct auth_inquiry *i);
struct auth_inquiry *auth_inquiry_new(struct auth_server *server, const struct auth_request *q,
                                      void *arg);

/* The worker's part: decodes the credential and looks up the user. */
void auth_inquiry_find_out(void *inquiry);

/* Takes the claim of the credential, if it is of this cluster, in time and new;
 * free it with protocol_claim_fini. Negative: `error` gives the reason.
 */
int auth_inquiry_take_claim(struct auth_inquiry *i, enum claim_purpose purpose,
                            struct protocol_claim *ret_claim);
