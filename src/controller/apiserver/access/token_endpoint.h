/* SPDX-License-Identifier: Apache-2.0 */
/* token_endpoint.h - the way in for tools that can speak no MUNGE
 *
 *   GET  /kiln/v1/access  where TLS is served, and by which certificate
 *   POST /kiln/v1/token   a bearer token of the principal, of some minutes
 *
 * A token is worth what its owner may, so it does not go over a wire that
 * others may read: it is handed out in a credential of MUNGE that its owner
 * alone can open, or as it is over the Unix socket and TLS. No token is given
 * for a token.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bearer_tokens;
struct credential_backend;
struct request;

/* Of a controller that serves TLS; zero of one that does not. */
struct token_endpoint {
    struct bearer_tokens *bearer;
    struct credential_backend *credential_backend;
    const char *cluster;
    const char *authority; /* the certificate, in PEM */
    int64_t lifetime_s;
};

/* Whether the path is one of these; then the request is answered, perhaps
 * later.
 */
bool token_endpoint_serve(struct request *q, const char *path);
