/* SPDX-License-Identifier: Apache-2.0 */
/* exec_grant.h - connections to a pod that the controller allows, for callers whom MUNGE
 * does not prove to be the pod's user
 *
 * The caller makes a key pair and asks the controller, which answers with grants: each says which
 * pod on which node, as which user, who asked, when, and the caller's public key, and has a
 * MAC that only this node and the controller can make (from the verifier of the node's
 * secret). The controller also tells the public half of a key that the node can compute and
 * nobody else but the controller. The caller sends a grant to the agent in one line, and the
 * agent answers with one, as in step_handshake.h. No secret crosses the network: who reads a
 * grant, or repeats it, has no keys of its connection. doc/protocol.md is the
 * specification.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/auth/digest.h"
#include "lib/auth/step_handshake.h"

#define EXEC_GRANTS_MOST 16u /* of one request */

struct error;
struct strbuf;

/* The controller's side. Sign adds the grant, which has a nonce of its own, as one word.
 * -EINVAL: a text is empty or has control characters, or the caller's key is none. Node_key:
 * what the caller needs to know of the node.
 */
struct exec_grant {
    const char *cluster;
    const char *node;
    const char *pod; /* its uid */
    const char *by;  /* who asked, for the agent's log */
    const char *key; /* the caller's, in hexadecimal */
    uid_t uid;       /* of the pod's owner, as whom programs run */
    int64_t issued_ms;
};
int exec_grant_sign(const struct digest *verifier, const struct exec_grant *grant,
                    struct strbuf *out, struct error *err);
void exec_grant_node_key(const struct digest *verifier, const char *cluster, const char *node,
                         char out[DIGEST_HEX_SIZE]);

/* The caller's side. A key pair may serve for several grants; the texts of the call are borrowed.
 * Begin adds the line to send. Finish takes the line that came back, without its newline; errors as
 * of step_call_finish. The caller wipes the secret.
 */
struct exec_call {
    const char *grant;    /* a word of exec_grant_sign */
    const char *node;     /* for messages */
    const char *node_key; /* as the controller told it */
    unsigned char secret[DIGEST_SIZE];
};
void exec_call_make_key(unsigned char ret_secret[DIGEST_SIZE], char out[DIGEST_HEX_SIZE]);
void exec_call_begin(const struct exec_call *call, struct strbuf *out);
int exec_call_finish(const struct exec_call *call, const char *line, struct step_keys *ret_keys,
                     struct error *err);

/* The agent's side, as step_caller_accept. Grants from before `since_ms` are refused: since then
 * the agent remembers which have been used. Both times are those of this machine.
 */
struct exec_receiver {
    struct digest verifier;
    const char *cluster;
    const char *node;
    int64_t now_ms, since_ms;
};
bool exec_line_is_grant(const char *line);
int exec_caller_accept(const struct exec_receiver *receiver, const char *line,
                       struct step_caller *ret_caller, struct error *err);
