/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/auth_grant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/auth/auth_session.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"

struct auth_grant {
    struct identity identity;     /* holds a reference to its user */
    struct auth_session *session; /* NULL: authenticated without a session */
    uint64_t seq;
    uint64_t n_frames;
    const struct auth_method *means; /* for a grant by credential */
    char nonce[PROTOCOL_NONCE_SIZE];
};

static struct auth_grant *
grant_new(const struct user *user, uid_t uid, gid_t gid, enum identity_proof proof)
{
    struct auth_grant *g = xnew(struct auth_grant);

    g->identity.uid = uid;
    g->identity.gid = gid;
    g->identity.proof = proof;
    g->identity.seals_headers = proof != IDENTITY_CREDENTIAL;
    g->identity.user = user_ref(user);
    return g;
}

struct auth_grant *
auth_grant_new_local(const struct user *user, uid_t uid, gid_t gid)
{
    return grant_new(user, uid, gid, IDENTITY_LOCAL);
}

struct auth_grant *
auth_grant_new_token(const struct user *user, uid_t uid, gid_t gid)
{
    return grant_new(user, uid, gid, IDENTITY_TOKEN);
}

struct auth_grant *
auth_grant_new_session(struct auth_session *s)
{
    struct auth_grant *g = xnew(struct auth_grant);

    g->identity = s->identity;
    (void)user_ref(g->identity.user);
    g->session = auth_session_ref(s);
    g->seq = s->last_seq;
    g->identity.seals_headers = s->is_sealed;
    return g;
}

struct auth_grant *
auth_grant_new_credential(const struct auth_method *means, const struct user *user, uid_t uid,
                          gid_t gid, const char *nonce, bool seals_headers)
{
    struct auth_grant *g = grant_new(user, uid, gid, IDENTITY_CREDENTIAL);

    g->means = means;
    g->identity.seals_headers = seals_headers;
    snprintf(g->nonce, sizeof(g->nonce), "%s", nonce);
    return g;
}

void
auth_grant_free(struct auth_grant *g)
{
    if (g == NULL)
        return;
    user_unref(g->identity.user);
    auth_session_free(g->session);
    free(g);
}

const struct identity *
auth_grant_identity(const struct auth_grant *g)
{
    return &g->identity;
}

/* A worker makes the credential of an answer. This struct has no pointer to the
 * grant, because the grant may have been freed by then.
 */
struct sealing {
    struct credential_backend *credential_backend;
    uid_t only_uid;
    struct strbuf claim;
    char *credential;
    struct error error;
    auth_seal_fn fn;
    void *arg;
};

static void
make_credential(void *arg)
{
    struct sealing *s = arg;

    credential_backend_encode(s->credential_backend, s->claim.text, s->claim.length, s->only_uid,
                              PROTOCOL_TTL_S, &s->credential, &s->error);
}

static void
hand_over(void *arg)
{
    struct sealing *s = arg;

    if (s->credential != NULL)
        s->fn(PROTOCOL_CREDENTIAL_HEADER, s->credential, NULL, s->arg);
    else
        s->fn(NULL, NULL, &s->error, s->arg);
    free(s->credential);
    strbuf_fini(&s->claim);
    free(s);
}

static void
seal_by_credential(struct auth_grant *g, int status, const char *content_type,
                   const struct digest *body, auth_seal_fn fn, void *arg)
{
    struct sealing *s = xnew(struct sealing);
    char hex[DIGEST_HEX_SIZE];
    struct protocol_claim claim = {
        .purpose = CLAIM_ANSWER,
        .cluster = g->means->cluster,
        .nonce = g->nonce,
        .status = status,
        .content_type = content_type,
        .body = hex,
    };

    digest_format(body, hex);
    strbuf_init(&s->claim);
    s->credential_backend = g->means->credential_backend;
    s->only_uid = g->identity.uid;
    s->fn = fn;
    s->arg = arg;
    if (protocol_claim_format(&claim, &s->claim) < 0) {
        error_set(&s->error, -EINVAL, "the answer's content type contains a newline");
        hand_over(s);
        return;
    }
    workers_submit(g->means->workers, g->means->loop, make_credential, hand_over, s);
}

void
auth_grant_seal(struct auth_grant *g, int status, const char *content_type,
                const struct digest *body, auth_seal_fn fn, void *arg)
{
    struct digest mac;
    char hex[DIGEST_HEX_SIZE];

    /* The kernel or TLS already authenticates the answer. */
    if (g->identity.proof == IDENTITY_LOCAL || g->identity.proof == IDENTITY_TOKEN) {
        fn(NULL, NULL, NULL, arg);
        return;
    }
    if (g->session == NULL) {
        seal_by_credential(g, status, content_type, body, fn, arg);
        return;
    }
    protocol_answer_mac(&g->session->key, g->seq, status, content_type, body, &mac);
    digest_format(&mac, hex);
    fn(PROTOCOL_MAC_HEADER, hex, NULL, arg);
}

int
auth_grant_may_stream(const struct auth_grant *g, struct error *err)
{
    if (g->identity.proof != IDENTITY_CREDENTIAL)
        return 0;
    return error_set(err, -EKEYREJECTED,
                     "a watch or a log needs a session (POST " PROTOCOL_SESSION_TARGET
                     "), not a credential of its own");
}

bool
auth_grant_seals_frames(const struct auth_grant *g)
{
    return g->session != NULL;
}

size_t
auth_grant_frame(struct auth_grant *g, const struct digest *frame, size_t frame_length,
                 char out[AUTH_FRAME_SIZE])
{
    struct digest mac;
    int n;

    out[0] = '\0';
    if (g->session == NULL)
        return 0;
    protocol_frame_mac(&g->session->key, g->seq, ++g->n_frames, frame, &mac);
    n = snprintf(out, AUTH_FRAME_SIZE, "mac %zu ", frame_length);
    digest_format(&mac, out + n);
    n += DIGEST_HEX_SIZE - 1;
    out[n++] = '\n';
    out[n] = '\0';
    return (size_t)n;
}

size_t
auth_grant_end(struct auth_grant *g, char out[AUTH_FRAME_SIZE])
{
    static const char head[] = "end ";
    struct digest mac;
    size_t n = sizeof(head) - 1;

    out[0] = '\0';
    if (g->session == NULL)
        return 0;
    protocol_end_mac(&g->session->key, g->seq, g->n_frames, &mac);
    memcpy(out, head, n);
    digest_format(&mac, out + n);
    n += DIGEST_HEX_SIZE - 1;
    out[n++] = '\n';
    out[n] = '\0';
    return n;
}
