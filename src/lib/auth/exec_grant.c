/* SPDX-License-Identifier: Apache-2.0 */
/* The caller cannot prove who he is to the node, but the controller can prove it for him.
 * Nobody who reads the grant on its way must be able to use it, so it names the caller's
 * public key, and the keys of the connection come from an exchange; and nobody must be able to
 * play the node, so the exchange includes a key that only the node and the controller can
 * compute. Nothing in a grant is interpreted before its MAC was checked.
 */
#include "lib/auth/exec_grant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/curve25519.h>
#include <nettle/memops.h>

#include "lib/auth/protocol.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define CALL    "kiln-exec-grant 1 "
#define ANSWER  "kiln-exec-answer 1 "
#define REFUSAL "kiln-step-refused "
#define TTL_MS  ((int64_t)PROTOCOL_TTL_S * 1000)

/* ---- Keys ---- */

static void
public_key(const unsigned char *secret, char out[DIGEST_HEX_SIZE])
{
    struct digest key;

    curve25519_mul_g(key.bytes, secret);
    digest_format(&key, out);
}

static void
mac(const void *key, size_t length, const char *const *texts, size_t n, struct digest *ret_mac)
{
    struct digest_part parts[16];

    for (size_t i = 0; i < n; i++) {
        parts[2 * i] = (struct digest_part){texts[i], strlen(texts[i])};
        parts[2 * i + 1] = (struct digest_part){"\n", 1};
    }
    digest_hmac(key, length, parts, 2 * n, ret_mac);
}

/* The key that the node and the controller have in common: the controller tells callers its
 * public half, and so the answer to a caller can only be that node's.
 */
static void
node_secret_key(const struct digest *verifier, const char *cluster, const char *node,
                struct digest *ret_secret)
{
    const char *const texts[] = {"kiln-exec-node-key 1", cluster, node};

    mac(verifier->bytes, DIGEST_SIZE, texts, ARRAY_SIZE(texts), ret_secret);
}

static void
sign(const struct digest *verifier, const char *text, struct digest *ret_mac)
{
    const char *const texts[] = {"kiln-exec-grant-mac 1", text};

    mac(verifier->bytes, DIGEST_SIZE, texts, ARRAY_SIZE(texts), ret_mac);
}

/* Both sides have the exchanges with the node's key, and with the key that the agent has made for
 * this connection.
 */
struct shared {
    unsigned char bytes[2][CURVE25519_SIZE];
};

/* -EPROTO: the public key is none, or one with which every secret gives the same. */
static int
multiply(unsigned char *out, const unsigned char *secret, const char *other)
{
    static const unsigned char nothing[CURVE25519_SIZE];
    struct digest key;

    if (digest_parse(other, &key) < 0)
        return -EPROTO;
    curve25519_mul(out, secret, key.bytes);
    return memeql_sec(out, nothing, CURVE25519_SIZE) != 0 ? -EPROTO : 0;
}

static void
derive(const struct shared *shared, const char *use, const char *grant, const char *agent_key,
       struct digest *ret_key)
{
    const char *const texts[] = {"kiln-exec-key 1", use, grant, agent_key};

    mac(shared->bytes, sizeof(shared->bytes), texts, ARRAY_SIZE(texts), ret_key);
}

static void
derive_direction(const struct shared *shared, const char *use, const char *grant,
                 const char *agent_key, struct sealed_state *ret_state)
{
    ret_state->count = 0;
    derive(shared, use, grant, agent_key, &ret_state->key);
}

/* ---- The controller ---- */

int
exec_grant_sign(const struct digest *verifier, const struct exec_grant *g, struct strbuf *out,
                struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, word = STRBUF_INIT;
    char nonce[PROTOCOL_NONCE_SIZE], hex[DIGEST_HEX_SIZE];
    struct digest key;
    const struct protocol_claim claim = {
        .purpose = CLAIM_EXEC_GRANT,
        .cluster = g->cluster,
        .nonce = nonce,
        .node = g->node,
        .pod = g->pod,
        .key = g->key,
        .uid = (int64_t)g->uid,
        .by = g->by,
        .issued_ms = g->issued_ms,
    };

    protocol_nonce(nonce);
    if (digest_parse(g->key, &key) < 0)
        return error_set(err, -EINVAL, "the key is not 64 hexadecimal digits");
    if (protocol_claim_format(&claim, &text) < 0)
        return error_set(err, -EINVAL, "a name has control characters");
    base64_encode(&word, text.text, text.length);
    sign(verifier, word.text, &key);
    digest_format(&key, hex);
    strbuf_printf(out, "%s.%s", word.text, hex);
    return 0;
}

void
exec_grant_node_key(const struct digest *verifier, const char *cluster, const char *node,
                    char out[DIGEST_HEX_SIZE])
{
    struct digest secret;

    node_secret_key(verifier, cluster, node, &secret);
    public_key(secret.bytes, out);
    explicit_bzero(&secret, sizeof(secret));
}

/* ---- The caller ---- */

void
exec_call_make_key(unsigned char ret_secret[DIGEST_SIZE], char out[DIGEST_HEX_SIZE])
{
    random_bytes(ret_secret, DIGEST_SIZE);
    public_key(ret_secret, out);
}

void
exec_call_begin(const struct exec_call *call, struct strbuf *out)
{
    strbuf_printf(out, CALL "%s\n", call->grant);
}

static int
open_answer(const struct exec_call *call, const char *agent_key, const struct digest *told,
            struct step_keys *ret_keys)
{
    struct shared shared;
    struct digest own;
    int r = multiply(shared.bytes[0], call->secret, call->node_key);

    if (r == 0)
        r = multiply(shared.bytes[1], call->secret, agent_key);
    if (r == 0) {
        derive(&shared, "answer", call->grant, agent_key, &own);
        r = digest_equals(&own, told) ? 0 : -EPROTO;
    }
    if (r == 0) {
        derive_direction(&shared, "caller", call->grant, agent_key, &ret_keys->out);
        derive_direction(&shared, "agent", call->grant, agent_key, &ret_keys->in);
    }
    explicit_bzero(&shared, sizeof(shared));
    return r;
}

int
exec_call_finish(const struct exec_call *call, const char *line, struct step_keys *ret_keys,
                 struct error *err)
{
    const size_t digits = DIGEST_HEX_SIZE - 1;
    char agent_key[DIGEST_HEX_SIZE] = "";
    struct digest told;

    if (strncmp(line, REFUSAL, strlen(REFUSAL)) == 0)
        return error_set(err, -ECONNREFUSED, "%s", line + strlen(REFUSAL));
    if (strncmp(line, ANSWER, strlen(ANSWER)) != 0)
        return error_set(err, -EKEYREJECTED, "what answers for node '%s' is no agent of Kiln",
                         call->node);
    line += strlen(ANSWER);
    if (strlen(line) == 2 * digits + 1 && line[digits] == ' ')
        memcpy(agent_key, line, digits);
    if (agent_key[0] == '\0' || digest_parse(line + digits + 1, &told) < 0
        || open_answer(call, agent_key, &told, ret_keys) < 0)
        return error_set(err, -EKEYREJECTED,
                         "what answers for node '%s' does not have that node's secret", call->node);
    return 0;
}

/* ---- The agent ---- */

bool
exec_line_is_grant(const char *line)
{
    return strncmp(line, CALL, strlen(CALL)) == 0;
}

static int
check_time(const struct exec_receiver *receiver, int64_t issued_ms, struct error *err)
{
    if (issued_ms > receiver->now_ms + TTL_MS || issued_ms < receiver->now_ms - TTL_MS)
        return error_set(err, -EKEYREJECTED,
                         "the grant is %" PRId64 " seconds old by the clock of this node, the most "
                         "allowed is %u; check the clocks (chrony) of this node and the controller",
                         (receiver->now_ms - issued_ms) / 1000, PROTOCOL_TTL_S);
    if (issued_ms < receiver->since_ms)
        return error_set(err, -EKEYREJECTED,
                         "the grant was made before this agent started; try again");
    return 0;
}

static int
check_claim(const struct exec_receiver *receiver, const struct protocol_claim *claim,
            struct error *err)
{
    if (strcmp(claim->cluster, receiver->cluster) != 0)
        return error_set(err, -EKEYREJECTED, "the grant is for cluster '%s', this is cluster '%s'",
                         claim->cluster, receiver->cluster);
    if (strcmp(claim->node, receiver->node) != 0)
        return error_set(err, -EKEYREJECTED, "the grant is for node '%s', this is node '%s'",
                         claim->node, receiver->node);
    if (strlen(claim->nonce) != PROTOCOL_NONCE_SIZE - 1 || claim->uid >= UINT32_MAX)
        return error_set(err, -EKEYREJECTED, "the grant has no valid nonce or user");
    return check_time(receiver, claim->issued_ms, err);
}

static int
answer(const struct exec_receiver *receiver, const char *grant, const struct protocol_claim *claim,
       struct step_caller *caller, struct error *err)
{
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    unsigned char secret[CURVE25519_SIZE];
    char key[DIGEST_HEX_SIZE], proof[DIGEST_HEX_SIZE];
    struct shared shared;
    struct digest node;
    int r;

    exec_call_make_key(secret, key);
    node_secret_key(&receiver->verifier, receiver->cluster, receiver->node, &node);
    r = multiply(shared.bytes[0], node.bytes, claim->key);
    if (r == 0)
        r = multiply(shared.bytes[1], secret, claim->key);
    if (r == 0) {
        derive_direction(&shared, "caller", grant, key, &caller->keys.in);
        derive_direction(&shared, "agent", grant, key, &caller->keys.out);
        derive(&shared, "answer", grant, key, &node);
        digest_format(&node, proof);
        strbuf_printf(&line, ANSWER "%s %s\n", key, proof);
        caller->answer = strbuf_take(&line);
    }
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(&shared, sizeof(shared));
    explicit_bzero(&node, sizeof(node));
    return r < 0 ? error_set(err, -EKEYREJECTED, "the grant has no valid key") : 0;
}

/* Nothing of it is interpreted before its MAC has been checked. */
static int
open_grant(const struct exec_receiver *receiver, const char *grant,
           struct protocol_claim *ret_claim, struct error *err)
{
    const char *dot = strchr(grant, '.');
    CLEANUP_FREE char *word = xstrndup(grant, dot != NULL ? (size_t)(dot - grant) : 0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct digest told, own;

    sign(&receiver->verifier, word, &own);
    if (dot == NULL || digest_parse(dot + 1, &told) < 0 || !digest_equals(&told, &own))
        return error_set(err, -EKEYREJECTED,
                         "the controller has not made this grant for this node as it is enrolled "
                         "now");
    if (base64_decode(&text, word, strlen(word)) < 0 || text.length == 0
        || protocol_claim_parse(text.text, text.length, CLAIM_EXEC_GRANT, ret_claim, err) < 0)
        return error_set(err, -EKEYREJECTED, "the grant is that of another release");
    return 0;
}

int
exec_caller_accept(const struct exec_receiver *receiver, const char *line,
                   struct step_caller *ret_caller, struct error *err)
{
    struct step_caller caller = {0};
    struct protocol_claim claim = {0};
    const char *grant = line + strlen(CALL);
    int r = open_grant(receiver, grant, &claim, err);

    if (r == 0)
        r = check_claim(receiver, &claim, err);
    if (r == 0) {
        caller.uid = (uid_t)claim.uid;
        caller.pod = xstrdup(claim.pod);
        caller.by = xstrdup(claim.by);
        memcpy(caller.nonce, claim.nonce, sizeof(caller.nonce));
        r = answer(receiver, grant, &claim, &caller, err);
    }
    protocol_claim_fini(&claim);
    if (r < 0)
        step_caller_fini(&caller);
    else
        *ret_caller = caller;
    return r;
}
