/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/auth_client.h"

#include <errno.h>
#include <string.h>

#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct auth_client {
    struct credential_backend *credential_backend;
    char *cluster;
    uid_t service_uid;
    char *node_name; /* NULL: the node cannot prove its name */
    struct digest verifier;
};

void
auth_client_free(struct auth_client *c)
{
    if (c == NULL)
        return;
    explicit_bzero(&c->verifier, sizeof(c->verifier));
    free(c->node_name);
    free(c->cluster);
    free(c);
}

struct auth_client *
auth_client_new(const struct auth_client_settings *settings)
{
    struct auth_client *c = xnew(struct auth_client);

    c->credential_backend = settings->credential_backend;
    c->cluster = xstrdup(settings->cluster);
    c->service_uid = settings->service_uid;
    if (settings->node_name != NULL && settings->secret != NULL) {
        c->node_name = xstrdup(settings->node_name);
        node_secret_verifier(settings->secret, &c->verifier);
    }
    return c;
}

/* Formats "Munge CREDENTIAL"; only the controller can decode the credential. */
static int
encode_claim(struct auth_client *c, const struct protocol_claim *claim,
             struct strbuf *ret_authorization, struct error *err)
{
    struct strbuf payload = STRBUF_INIT;
    char *credential = NULL;
    int r = protocol_claim_format(claim, &payload);

    if (r < 0)
        r = error_set(err, r, "a name or target contains a control character");
    else
        r = credential_backend_encode(c->credential_backend, payload.text, payload.length,
                                      c->service_uid, PROTOCOL_TTL_S, &credential, err);
    if (r == 0)
        strbuf_printf(ret_authorization, "Munge %s", credential);
    free(credential);
    strbuf_fini(&payload);
    return r;
}

/* Checks a credential of the server: the service user must have made it, for
 * this cluster and in answer to this nonce.
 */
static int
decode_claim(struct auth_client *c, const char *credential, enum claim_purpose purpose,
             const char *nonce, struct protocol_claim *ret_claim, struct error *err)
{
    struct credential found = {0};
    struct protocol_claim claim = {0};
    int r;

    if (credential == NULL)
        return error_set(err, -EKEYREJECTED,
                         "the answer carries no proof that it is the "
                         "controller's (no " PROTOCOL_CREDENTIAL_HEADER " header)");
    r = credential_backend_decode(c->credential_backend, credential, &found, err);
    if (r < 0)
        return r;
    if (found.uid != c->service_uid)
        r = error_set(err, -EKEYREJECTED,
                      "the answer was made by uid %u, not by the controller's "
                      "service user (uid %u)",
                      (unsigned)found.uid, (unsigned)c->service_uid);
    if (r == 0)
        r = protocol_claim_parse(found.payload, found.length, purpose, &claim, err);
    if (r == 0 && (strcmp(claim.nonce, nonce) != 0 || strcmp(claim.cluster, c->cluster) != 0))
        r = error_set(err, -EKEYREJECTED, "the answer's credential belongs to another request");
    credential_fini(&found);
    if (r < 0)
        protocol_claim_fini(&claim);
    else
        *ret_claim = claim;
    return r;
}

int
auth_client_hello(struct auth_client *c, struct auth_line *line, struct strbuf *ret_authorization,
                  struct error *err)
{
    char proof[DIGEST_HEX_SIZE] = "";
    struct digest d;
    struct protocol_claim claim = {
        .purpose = CLAIM_HELLO,
        .cluster = c->cluster,
        .nonce = line->nonce,
        .node = c->node_name,
        .proof = proof,
    };

    *line = (struct auth_line){0};
    protocol_nonce(line->nonce);
    if (c->node_name != NULL) {
        node_secret_proof(&c->verifier, c->cluster, c->node_name, line->nonce, &d);
        digest_format(&d, proof);
    }
    return encode_claim(c, &claim, ret_authorization, err);
}

int
auth_client_welcome(struct auth_client *c, struct auth_line *line, const char *credential,
                    struct error *err)
{
    struct protocol_claim claim = {0};
    int r = decode_claim(c, credential, CLAIM_WELCOME, line->nonce, &claim, err);

    if (r < 0)
        return r;
    if (strlen(claim.session) >= sizeof(line->session) || digest_parse(claim.key, &line->key) < 0) {
        r = error_set(err, -EPROTO, "the controller's session is malformed");
    } else {
        strcpy(line->session, claim.session);
        line->lifetime_s = claim.lifetime_s;
        line->is_open = true;
    }
    protocol_claim_fini(&claim);
    return r;
}

void
auth_line_sign(struct auth_line *line, const char *method, const char *target,
               const char *content_type, const void *body, size_t length, const char *sealed,
               struct strbuf *ret_authorization)
{
    struct digest digest, mac;

    line->seq++;
    digest_of(body, length, &digest);
    protocol_request_mac(&line->key, line->seq, method, target, content_type, &digest, sealed,
                         &mac);
    protocol_format_authorization(ret_authorization, line->session, line->seq, &mac,
                                  sealed != NULL);
}

int
auth_line_check(const struct auth_line *line, uint64_t seq, const char *mac_header, int status,
                const char *content_type, const void *body, size_t length, struct error *err)
{
    struct digest digest, given, expected;

    if (mac_header == NULL || digest_parse(mac_header, &given) < 0)
        return error_set(err, -EKEYREJECTED,
                         "the answer carries no proof that it is the "
                         "controller's (no valid " PROTOCOL_MAC_HEADER " header)");
    digest_of(body, length, &digest);
    protocol_answer_mac(&line->key, seq, status, content_type, &digest, &expected);
    if (digest_equals(&given, &expected))
        return 0;
    return error_set(err, -EKEYREJECTED,
                     "the answer's MAC does not match the received answer; "
                     "something between controller and client changed it");
}

int
auth_client_sign_once(struct auth_client *c, const char *method, const char *target,
                      const char *content_type, const void *body, size_t length, const char *sealed,
                      char ret_nonce[PROTOCOL_NONCE_SIZE], struct strbuf *ret_authorization,
                      struct error *err)
{
    char hex[DIGEST_HEX_SIZE], headers_hex[DIGEST_HEX_SIZE];
    struct digest digest, headers;
    struct protocol_claim claim = {
        .purpose = CLAIM_REQUEST,
        .cluster = c->cluster,
        .nonce = ret_nonce,
        .method = method,
        .target = target,
        .content_type = content_type,
        .body = hex,
        .headers = sealed != NULL ? headers_hex : NULL,
    };

    if (sealed != NULL) {
        digest_of(sealed, strlen(sealed), &headers);
        digest_format(&headers, headers_hex);
    }
    protocol_nonce(ret_nonce);
    digest_of(body, length, &digest);
    digest_format(&digest, hex);
    return encode_claim(c, &claim, ret_authorization, err);
}

int
auth_client_check_once(struct auth_client *c, const char *nonce, const char *credential, int status,
                       const char *content_type, const void *body, size_t length, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct digest digest;
    struct protocol_claim claim = {0};
    int r = decode_claim(c, credential, CLAIM_ANSWER, nonce, &claim, err);

    if (r < 0)
        return r;
    digest_of(body, length, &digest);
    digest_format(&digest, hex);
    if (claim.status != status || strcmp(claim.body, hex) != 0
        || strcmp(claim.content_type, content_type != NULL ? content_type : "") != 0)
        r = error_set(err, -EKEYREJECTED,
                      "the answer's credential does not match the received "
                      "answer; something between controller and client "
                      "changed it");
    protocol_claim_fini(&claim);
    return r;
}
