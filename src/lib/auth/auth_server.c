/* SPDX-License-Identifier: Apache-2.0 */
/* Three ways of proof lead to the same thing, a grant: the kernel's word on a Unix socket, a
 * session, and a single credential. A session is what makes requests cheap: one MUNGE exchange
 * takes 130 us and blocks, a MAC about one.
 */
#include "lib/auth/auth_server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/auth/auth_grant.h"
#include "lib/auth/auth_inquiry.h"
#include "lib/auth/auth_session.h"
#include "lib/auth/bearer_tokens.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/auth/nonces.h"
#include "lib/auth/protocol.h"
#include "lib/auth/recent_users.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

#define DEFAULT_SESSION_MS (INT64_C(12) * 3600 * 1000)
#define DEFAULT_SESSIONS   65536u

void
auth_server_free(struct auth_server *server)
{
    if (server == NULL)
        return;
    recent_users_free(server->users);
    nonces_free(server->nonces);
    free(server->means.cluster);
    free(server);
}

struct auth_server *
auth_server_new(const struct auth_server_settings *settings)
{
    struct auth_server *server = xnew(struct auth_server);

    server->means.loop = settings->loop;
    server->means.workers = settings->workers;
    server->means.credential_backend = settings->credential_backend;
    server->means.cluster = xstrdup(settings->cluster);
    server->clock = settings->clock != NULL ? settings->clock : &clock_system;
    server->session_ms = settings->session_ms != 0 ? settings->session_ms : DEFAULT_SESSION_MS;
    server->most_sessions = settings->sessions != 0 ? settings->sessions : DEFAULT_SESSIONS;
    server->own_uid = geteuid();
    server->verifier = settings->verifier;
    server->verifier_arg = settings->verifier_arg;
    server->bearer = settings->bearer;
    server->users = recent_users_new();
    server->nonces = nonces_new();
    server->leads_since_us = INT64_MIN;
    return server;
}

void
auth_server_begin_lead(struct auth_server *server)
{
    server->leads_since_us = clock_monotonic_us(server->clock);
}

static void
encode_welcome(void *arg)
{
    struct auth_inquiry *i = arg;

    credential_backend_encode(i->server->means.credential_backend, i->welcome.text,
                              i->welcome.length, i->uid, PROTOCOL_TTL_S, &i->answer, &i->error);
}

/* A request with a credential of its own */

static int
compare(struct auth_inquiry *i, const char *what, const char *claimed, const char *received)
{
    if (strcmp(claimed, received) == 0)
        return 0;
    return error_set(&i->error, -EKEYREJECTED,
                     "the credential is for another request (its %s is '%s', "
                     "not '%s')",
                     what, claimed, received);
}

static int
check_request_claim(struct auth_inquiry *i, const struct protocol_claim *claim)
{
    int r = compare(i, "method", claim->method, i->method);

    if (r == 0)
        r = compare(i, "target", claim->target, i->target);
    if (r == 0)
        r = compare(i, "content type", claim->content_type, i->content_type);
    if (r == 0)
        r = compare(i, "body digest", claim->body, i->body);
    if (r == 0 && claim->headers != NULL)
        r = compare(i, "digest of headers", claim->headers, i->headers);
    return r;
}

static void
conclude_request(void *arg)
{
    struct auth_inquiry *i = arg;
    struct protocol_claim claim = {0};
    struct auth_grant *grant = NULL;
    int r = auth_inquiry_take_claim(i, CLAIM_REQUEST, &claim);

    if (r == 0)
        r = check_request_claim(i, &claim);
    if (r == 0)
        grant = auth_grant_new_credential(&i->server->means, i->user, i->uid, i->gid, claim.nonce,
                                          claim.headers != NULL);
    protocol_claim_fini(&claim);
    i->check_fn(grant, r < 0 ? &i->error : NULL, i->arg);
    auth_inquiry_free(i);
}

/* A local peer, or the user of a token: its name and groups come from a lookup,
 * or from the cache of recent users.
 */

static struct auth_grant *
new_plain_grant(enum identity_proof proof, const struct user *user, uid_t uid, gid_t gid)
{
    return proof == IDENTITY_TOKEN ? auth_grant_new_token(user, uid, gid)
                                   : auth_grant_new_local(user, uid, gid);
}

static void
conclude_plain(void *arg)
{
    struct auth_inquiry *i = arg;

    i->check_fn(new_plain_grant(i->proof, i->user, i->uid, i->gid), NULL, i->arg);
    auth_inquiry_free(i);
}

static void
check_plain(struct auth_server *server, enum identity_proof proof, uid_t uid, gid_t gid,
            auth_check_fn fn, void *arg)
{
    const struct user *user =
        recent_users_find(server->users, uid, gid, clock_monotonic_us(server->clock));
    struct auth_request nothing = {.uid = uid, .gid = gid};
    struct auth_inquiry *i;

    if (user != NULL) {
        fn(new_plain_grant(proof, user, uid, gid), NULL, arg);
        user_unref(user);
        return;
    }
    i = auth_inquiry_new(server, &nothing, arg);
    i->proof = proof;
    i->check_fn = fn;
    workers_submit(server->means.workers, server->means.loop, auth_inquiry_find_out, conclude_plain,
                   i);
}

static void
check_token(struct auth_server *server, const struct auth_request *q, auth_check_fn fn, void *arg)
{
    const char *token = strchr(q->authorization, ' ') + 1;
    struct error err = {0};
    uid_t uid;
    gid_t gid;
    int r;

    if (server->bearer == NULL || !q->is_secure)
        r = error_set(&err, -EKEYREJECTED,
                      "bearer tokens are accepted only over TLS (see 'kctl "
                      "kubeconfig')");
    else
        r = bearer_tokens_check(server->bearer, token, &uid, &gid, &err);
    if (r < 0)
        fn(NULL, &err, arg);
    else
        check_plain(server, IDENTITY_TOKEN, uid, gid, fn, arg);
}

/* A request of a session */

static void
check_session(struct auth_server *server, const struct auth_request *q, auth_check_fn fn, void *arg)
{
    struct error err = {0};
    int r;

    if (q->session == NULL)
        r = error_set(
            &err, -EKEYREJECTED,
            "this connection has no session; open one with POST " PROTOCOL_SESSION_TARGET);
    else
        r = auth_session_check(q->session, q, clock_monotonic_us(server->clock), &err);
    if (r < 0)
        fn(NULL, &err, arg);
    else
        fn(auth_grant_new_session(q->session), NULL, arg);
}

static bool
has_scheme(const struct auth_request *q, const char *scheme)
{
    return strncmp(q->authorization, scheme, strlen(scheme)) == 0;
}

static int
refuse(const struct auth_request *q, struct error *err)
{
    if (q->authorization == NULL)
        return error_set(err, -EKEYREJECTED,
                         "no Authorization header: use ksub, kctl or kctl "
                         "proxy, which prove the caller's identity");
    return error_set(err, -EKEYREJECTED,
                     "unknown kind of Authorization (expected 'Munge ...' or "
                     "'Kiln ...')");
}

void
auth_server_check(struct auth_server *server, const struct auth_request *q, auth_check_fn fn,
                  void *arg)
{
    struct error err = {0};
    struct auth_inquiry *i;

    if (q->authorization == NULL && q->is_local) {
        check_plain(server, IDENTITY_LOCAL, q->uid, q->gid, fn, arg);
    } else if (q->authorization != NULL && has_scheme(q, "Bearer ")) {
        check_token(server, q, fn, arg);
    } else if (q->authorization != NULL && has_scheme(q, "Kiln ")) {
        check_session(server, q, fn, arg);
    } else if (q->authorization != NULL && has_scheme(q, "Munge ")) {
        i = auth_inquiry_new(server, q, arg);
        i->check_fn = fn;
        workers_submit(server->means.workers, server->means.loop, auth_inquiry_find_out,
                       conclude_request, i);
    } else {
        (void)refuse(q, &err);
        fn(NULL, &err, arg);
    }
}

/* Opening a session, in steps: decode the credential, check the claim, make the
 * session, encode the welcome, pass both to the caller.
 */

static void
fail_open(void *arg)
{
    struct auth_inquiry *i = arg;

    i->open_fn(NULL, NULL, &i->error, i->arg);
    auth_inquiry_free(i);
}

static int
check_node(struct auth_inquiry *i, const struct protocol_claim *claim)
{
    struct auth_server *server = i->server;
    struct digest verifier, expected, given;

    if (claim->node[0] == '\0')
        return 0;
    if (strlen(claim->node) >= IDENTITY_NODE_SIZE)
        return error_set(&i->error, -EKEYREJECTED, "the node name is too long");
    if (server->verifier != NULL && server->verifier(claim->node, &verifier, server->verifier_arg)
        && digest_parse(claim->proof, &given) == 0) {
        node_secret_proof(&verifier, server->means.cluster, claim->node, claim->nonce, &expected);
        if (digest_equals(&expected, &given))
            return 0;
    }
    return error_set(&i->error, -EKEYREJECTED,
                     "the caller has not proven to be node '%s': it does not "
                     "have the secret issued at enrolment (if the secret was "
                     "lost or restored from a copy, 'kctl reset node %s' lets "
                     "the node enrol again)",
                     claim->node, claim->node);
}

static int
make_session(struct auth_inquiry *i, const struct protocol_claim *claim)
{
    struct auth_server *server = i->server;
    int64_t now = clock_monotonic_us(server->clock);

    if (server->n_sessions >= server->most_sessions)
        return error_set(&i->error, -EHOSTDOWN,
                         "the controller has %zu open sessions, which is its "
                         "limit; try again later",
                         server->n_sessions);
    i->session = auth_session_new(&server->n_sessions, i->user, i->uid, i->gid,
                                  now + server->session_ms * 1000);
    strcpy(i->session->identity.node_name, claim->node);
    return 0;
}

static void
format_welcome(struct auth_inquiry *i, const struct protocol_claim *hello)
{
    char key[DIGEST_HEX_SIZE];
    struct protocol_claim claim = {
        .purpose = CLAIM_WELCOME,
        .cluster = hello->cluster,
        .nonce = hello->nonce,
        .session = i->session->id,
        .key = key,
        .lifetime_s = i->server->session_ms / 1000,
    };

    digest_format(&i->session->key, key);
    (void)protocol_claim_format(&claim, &i->welcome); /* parsed, so no newlines */
    explicit_bzero(key, sizeof(key));
}

static void
conclude_open(void *arg)
{
    struct auth_inquiry *i = arg;

    if (i->answer == NULL) {
        auth_session_free(i->session);
        fail_open(i);
        return;
    }
    i->open_fn(i->session, i->answer, NULL, i->arg);
    auth_inquiry_free(i);
}

static void
continue_open(void *arg)
{
    struct auth_inquiry *i = arg;
    struct protocol_claim claim = {0};
    int r = auth_inquiry_take_claim(i, CLAIM_HELLO, &claim);

    if (r == 0)
        r = check_node(i, &claim);
    if (r == 0)
        r = make_session(i, &claim);
    if (r == 0)
        format_welcome(i, &claim);
    protocol_claim_fini(&claim);
    if (r < 0)
        fail_open(i);
    else
        workers_submit(i->server->means.workers, i->server->means.loop, encode_welcome,
                       conclude_open, i);
}

void
auth_server_open(struct auth_server *server, const struct auth_request *q, auth_open_fn fn,
                 void *arg)
{
    struct auth_inquiry *i;

    if (q->authorization == NULL || !has_scheme(q, "Munge ")) {
        struct auth_request nothing = {.uid = q->uid, .gid = q->gid};

        i = auth_inquiry_new(server, &nothing, arg);
        i->open_fn = fn;
        error_set(&i->error, -EKEYREJECTED,
                  "open a session with 'Authorization: Munge CREDENTIAL'");
        loop_defer(server->means.loop, fail_open, i);
        return;
    }
    i = auth_inquiry_new(server, q, arg);
    i->open_fn = fn;
    workers_submit(server->means.workers, server->means.loop, auth_inquiry_find_out, continue_open,
                   i);
}
