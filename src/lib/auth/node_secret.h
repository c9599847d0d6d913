/* SPDX-License-Identifier: Apache-2.0 */
/* node_secret.h - the secret by which a node authenticates itself
 *
 * A secret is issued once, at enrolment: 32 random bytes, which the agent keeps
 * (0600) as 64 hexadecimal digits. The controller keeps its verifier, a digest
 * of the secret. The secret cannot be computed from the verifier, but a proof
 * can be, so the verifier is as private as the secret.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

#include "lib/auth/digest.h"

struct node_secret {
    unsigned char bytes[32];
};

/* Life. Parse takes the output of format: 0 or -EINVAL. */
void node_secret_issue(struct node_secret *ret_secret);
int node_secret_parse(const char *hex, struct node_secret *ret_secret);
void node_secret_format(const struct node_secret *s, char out[DIGEST_HEX_SIZE]);

/* Computes the digest that the controller keeps. */
void node_secret_verifier(const struct node_secret *s, struct digest *ret_verifier);

/* Computes a proof, which is valid for one nonce, one node and one cluster; it is made and
 * checked with the verifier.
 */
void node_secret_proof(const struct digest *verifier, const char *cluster, const char *node_name,
                       const char *nonce, struct digest *ret_proof);
