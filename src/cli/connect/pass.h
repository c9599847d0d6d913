/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h - what another tool needs to come in by TLS: where, and a token
 *
 * Both are asked of the controller as anything else, so the caller is proven
 * to it and it to the caller.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct connection;
struct error;

/* Where: texts in the arena. `host` is what the controller is called in the
 * URL; NULL: as it was called here.
 */
struct pass_door {
    const char *url;              /* "https://head:6821" */
    const char *cluster;          /* its name */
    const char *authority_base64; /* certificates in PEM, in base64 */
};
int pass_find_door(struct connection *connection,
                   const char *host,
                   struct arena *arena,
                   struct pass_door *ret_door,
                   struct error *err);

/* A token of the caller, and until when it is good (RFC 3339). */
struct pass_token {
    const char *text;
    const char *ends_at;
};
int pass_get_token(struct connection *connection,
                   struct arena *arena,
                   struct pass_token *ret_token,
                   struct error *err);

/* A token that reads the controller's metrics and nothing else, until it is
 * ended. The name holds nothing that a query could misread.
 */
int pass_make_metrics_token(struct connection *c,
                            const char *name,
                            struct arena *arena,
                            const char **ret_token,
                            struct error *err);
int pass_end_metrics_token(struct connection *c,
                           const char *name,
                           struct arena *arena,
                           struct error *err);
