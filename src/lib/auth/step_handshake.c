/* SPDX-License-Identifier: Apache-2.0 */
/* People type passwords into steps, so the keys must not be MUNGE's: whoever gets munged's key
 * later could read what was recorded. MUNGE only authenticates an X25519 exchange. The
 * credential names the node and the pod, because the munged of each machine knows only the
 * replays that it has seen itself (decision 690).
 */
#include "lib/auth/step_handshake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/curve25519.h>
#include <nettle/memops.h>

#include "lib/auth/credential_backend.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define CALL    "kiln-step 1 "
#define ANSWER  "kiln-step-answer 1 "
#define REFUSAL "kiln-step-refused "

_Static_assert(CURVE25519_SIZE == DIGEST_SIZE, "a public key is written as a digest is");

static void
public_key(const unsigned char *secret, char out[DIGEST_HEX_SIZE])
{
    struct digest key;

    curve25519_mul_g(key.bytes, secret);
    digest_format(&key, out);
}

/* The keys of one direction and the other cover everything that the two sides
 * agree on, so they agree on all of it or on nothing.
 */
static void
derive(const unsigned char *shared, const char *direction, const struct protocol_claim *call,
       const char *answer_key, struct sealed_state *ret_state)
{
    const char *const texts[] = {CALL,       direction, call->cluster, call->nonce,
                                 call->node, call->pod, call->key,     answer_key};
    struct digest_part parts[2 * ARRAY_SIZE(texts)];

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        parts[2 * i] = (struct digest_part){texts[i], strlen(texts[i])};
        parts[2 * i + 1] = (struct digest_part){"\n", 1};
    }
    ret_state->count = 0;
    digest_hmac(shared, CURVE25519_SIZE, parts, ARRAY_SIZE(parts), &ret_state->key);
}

/* From the own secret and the public key of the other side. -EPROTO when that
 * key is none, or one with which every secret gives the same.
 */
static int
exchange(const unsigned char *secret, const char *other, const struct protocol_claim *call,
         const char *answer_key, struct sealed_state *from_caller, struct sealed_state *from_agent)
{
    static const unsigned char nothing[CURVE25519_SIZE];
    unsigned char shared[CURVE25519_SIZE];
    struct digest key;

    if (digest_parse(other, &key) < 0)
        return -EPROTO;
    curve25519_mul(shared, secret, key.bytes);
    if (memeql_sec(shared, nothing, sizeof(shared)) != 0)
        return -EPROTO;
    derive(shared, "caller", call, answer_key, from_caller);
    derive(shared, "agent", call, answer_key, from_agent);
    explicit_bzero(shared, sizeof(shared));
    return 0;
}

static int
encode(struct credential_backend *backend, const struct protocol_claim *claim, uid_t reader,
       char **ret_credential, struct error *err)
{
    CLEANUP_STRBUF struct strbuf payload = STRBUF_INIT;

    if (protocol_claim_format(claim, &payload) < 0)
        return error_set(err, -EINVAL, "the name of a cluster, node or pod has control characters");
    return credential_backend_encode(backend, payload.text, payload.length, reader, PROTOCOL_TTL_S,
                                     ret_credential, err);
}

static struct protocol_claim
claim_of(const struct step_call *call, const char *key)
{
    return (struct protocol_claim){
        .purpose = CLAIM_STEP,
        .cluster = call->cluster,
        .nonce = call->nonce,
        .node = call->node,
        .pod = call->pod,
        .key = key,
    };
}

int
step_call_begin(struct step_call *call, struct credential_backend *backend, struct strbuf *ret_line,
                struct error *err)
{
    CLEANUP_FREE char *credential = NULL;
    char key[DIGEST_HEX_SIZE];
    struct protocol_claim claim;
    int r;

    protocol_nonce(call->nonce);
    random_bytes(call->secret, sizeof(call->secret));
    public_key(call->secret, key);
    claim = claim_of(call, key);
    r = encode(backend, &claim, call->agent_uid, &credential, err);
    if (r == 0)
        strbuf_printf(ret_line, CALL "%s\n", credential);
    return r;
}

static int
read_answer(const struct step_call *call, const struct credential *found, struct step_keys *keys,
            struct error *err)
{
    char key[DIGEST_HEX_SIZE];
    struct protocol_claim answer = {0}, own;
    int r;

    if (found->uid != call->agent_uid)
        return error_set(err, -EKEYREJECTED,
                         "uid %u answered for node '%s', not its agent (uid %u)",
                         (unsigned)found->uid, call->node, (unsigned)call->agent_uid);
    if (protocol_claim_parse(found->payload, found->length, CLAIM_STEP_ANSWER, &answer, err) < 0)
        return -EKEYREJECTED;
    public_key(call->secret, key);
    own = claim_of(call, key);
    if (strcmp(answer.nonce, call->nonce) != 0 || strcmp(answer.cluster, call->cluster) != 0)
        r = error_set(err, -EKEYREJECTED, "node '%s' answered another call", call->node);
    else if (exchange(call->secret, answer.key, &own, answer.key, &keys->out, &keys->in) < 0)
        r = error_set(err, -EKEYREJECTED, "the answer of node '%s' has no valid key", call->node);
    else
        r = 0;
    protocol_claim_fini(&answer);
    return r;
}

int
step_call_finish(struct step_call *call, struct credential_backend *backend, const char *line,
                 struct step_keys *ret_keys, struct error *err)
{
    struct credential found = {0};
    int r;

    if (strncmp(line, REFUSAL, strlen(REFUSAL)) == 0)
        return error_set(err, -ECONNREFUSED, "%s", line + strlen(REFUSAL));
    if (strncmp(line, ANSWER, strlen(ANSWER)) != 0)
        return error_set(err, -EKEYREJECTED, "what answers for node '%s' is no agent of Kiln",
                         call->node);
    r = credential_backend_decode(backend, line + strlen(ANSWER), &found, err);
    if (r == 0)
        r = read_answer(call, &found, ret_keys, err);
    explicit_bzero(call->secret, sizeof(call->secret));
    credential_fini(&found);
    return r;
}

void
step_caller_fini(struct step_caller *c)
{
    free(c->pod);
    free(c->by);
    free(c->answer);
    explicit_bzero(c, sizeof(*c));
}

/* Checks what the credential itself says, before its claim is read. */
static int
check_credential(const struct credential *c, uid_t own_uid, struct error *err)
{
    if (c->only_uid != own_uid)
        return error_set(err, -EKEYREJECTED,
                         "the credential is not for the agent's user alone (uid %u)",
                         (unsigned)own_uid);
    if (c->age_s > (long)PROTOCOL_TTL_S)
        return error_set(err, -EKEYREJECTED,
                         "the credential is %ld seconds old, the most allowed is %u; check the "
                         "clocks (chrony) of both machines",
                         c->age_s, PROTOCOL_TTL_S);
    return 0;
}

static int
check_claim(const struct protocol_claim *claim, const char *cluster, const char *node,
            struct error *err)
{
    if (strcmp(claim->cluster, cluster) != 0)
        return error_set(err, -EKEYREJECTED,
                         "the credential is for cluster '%s', this is cluster '%s'", claim->cluster,
                         cluster);
    if (strcmp(claim->node, node) != 0)
        return error_set(err, -EKEYREJECTED, "the credential is for node '%s', this is node '%s'",
                         claim->node, node);
    if (strlen(claim->nonce) != PROTOCOL_NONCE_SIZE - 1)
        return error_set(err, -EKEYREJECTED, "the credential has no valid nonce");
    return 0;
}

static int
answer(struct credential_backend *backend, const struct protocol_claim *call,
       struct step_caller *caller, struct error *err)
{
    CLEANUP_FREE char *credential = NULL;
    unsigned char secret[CURVE25519_SIZE];
    char key[DIGEST_HEX_SIZE];
    struct protocol_claim claim = {
        .purpose = CLAIM_STEP_ANSWER,
        .cluster = call->cluster,
        .nonce = call->nonce,
        .key = key,
    };
    int r;

    random_bytes(secret, sizeof(secret));
    public_key(secret, key);
    r = exchange(secret, call->key, call, key, &caller->keys.in, &caller->keys.out);
    explicit_bzero(secret, sizeof(secret));
    if (r < 0)
        return error_set(err, -EKEYREJECTED, "the credential has no valid key");
    r = encode(backend, &claim, caller->uid, &credential, err);
    if (r == 0) {
        CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

        strbuf_printf(&line, ANSWER "%s\n", credential);
        caller->answer = strbuf_take(&line);
    }
    return r;
}

int
step_caller_accept(struct credential_backend *backend, const char *cluster, const char *node,
                   uid_t own_uid, const char *line, struct step_caller *ret_caller,
                   struct error *err)
{
    struct step_caller caller = {0};
    struct credential found = {0};
    struct protocol_claim claim = {0};
    int r;

    if (strncmp(line, CALL, strlen(CALL)) != 0)
        return error_set(err, -EPROTO,
                         "this is the step port of an agent of Kiln; it takes calls of krun of "
                         "the same release");
    r = credential_backend_decode(backend, line + strlen(CALL), &found, err);
    if (r == 0)
        r = check_credential(&found, own_uid, err);
    if (r == 0 && protocol_claim_parse(found.payload, found.length, CLAIM_STEP, &claim, err) < 0)
        r = -EKEYREJECTED;
    if (r == 0)
        r = check_claim(&claim, cluster, node, err);
    if (r == 0) {
        caller.uid = found.uid;
        caller.gid = found.gid;
        caller.pod = xstrdup(claim.pod);
        memcpy(caller.nonce, claim.nonce, sizeof(caller.nonce));
        r = answer(backend, &claim, &caller, err);
    }
    credential_fini(&found);
    protocol_claim_fini(&claim);
    if (r < 0)
        step_caller_fini(&caller);
    else
        *ret_caller = caller;
    return r;
}

void
step_refuse(struct strbuf *out, const char *why)
{
    strbuf_add_text(out, REFUSAL);
    for (size_t i = 0; why[i] != '\0' && out->length < STEP_LINE_MOST - 1; i++)
        strbuf_add_char(out, (unsigned char)why[i] < ' ' ? ' ' : why[i]);
    strbuf_add_char(out, '\n');
}
