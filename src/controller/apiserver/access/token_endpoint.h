/* SPDX-License-Identifier: Apache-2.0 */
/* token_endpoint.h - access for tools that do not support MUNGE
 *
 *   GET  /kiln/v1/access  where TLS is served, and with which certificate
 *   POST /kiln/v1/token   a bearer token of the principal, for some minutes
 *
 * A token gives all rights of its owner, so it is never sent where others may
 * read it: it is sent in a MUNGE credential that only its owner can decode, or
 * as it is over the Unix socket. A token cannot be used to get another token.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bearer_tokens;
struct credential_backend;
struct request;
struct strbuf;

/* Of a controller that serves TLS; otherwise all members are zero. */
struct token_endpoint {
    struct bearer_tokens *bearer;
    struct credential_backend *credential_backend;
    const char *cluster;
    const struct strbuf *authority; /* the certificate, in PEM; a reload changes it */
    int64_t lifetime_s;
};

/* Returns false when the path is another. Otherwise the request is answered,
 * perhaps later.
 */
bool token_endpoint_serve(struct request *q, const char *path);
