/* SPDX-License-Identifier: Apache-2.0 */
/* node_secret.h - what a node proves itself by
 *
 * Issued once, at enrolment: 32 random bytes, kept by the agent (0600) as 64
 * hexadecimal digits. The controller keeps the verifier, a digest of it, from
 * which the secret cannot be found but with which a proof could be made: it is
 * as private as the secret.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#include "lib/auth/digest.h"

struct node_secret {
    unsigned char bytes[32];
};

/* Life. Parse takes what format wrote: 0 or -EINVAL. */
void node_secret_issue(struct node_secret *ret_secret);
int node_secret_parse(const char *hex, struct node_secret *ret_secret);
void node_secret_format(const struct node_secret *s, char out[DIGEST_HEX_SIZE]);

/* Verifier: what the controller keeps. Proof: for one nonce, one node, one
 * cluster; made and checked from the verifier.
 */
void node_secret_verifier(const struct node_secret *s,
                          struct digest *ret_verifier);
void node_secret_proof(const struct digest *verifier,
                       const char *cluster,
                       const char *node_name,
                       const char *nonce,
                       struct digest *ret_proof);
