/* SPDX-License-Identifier: Apache-2.0 */
/* tls_access.h - the URL, certificate and token with which another tool
 * connects by TLS
 *
 * All come from the controller over the ordinary connection, which
 * authenticates the user and the controller to each other.
 *
 * Thread: the main one.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct connection;
struct error;

/* Finds the endpoint; its texts are in the arena. `host` is the host in the
 * URL; NULL: the host by which this program reached the controller.
 */
struct tls_endpoint {
    const char *url;              /* "https://head:6821" */
    const char *cluster;          /* its name */
    const char *authority_base64; /* PEM certificates in base64 */
};
int tls_access_find_endpoint(struct connection *connection, const char *host, struct arena *arena,
                             struct tls_endpoint *ret_endpoint, struct error *err);

/* A token of the user, and the time when it expires (RFC 3339). */
struct tls_access_token {
    const char *text;
    const char *ends_at;
};
int tls_access_get_token(struct connection *connection, struct arena *arena,
                         struct tls_access_token *ret_token, struct error *err);

/* A token that may only read the controller's metrics, valid until it is
 * revoked. The name must not need an escape in a query.
 */
int tls_access_make_metrics_token(struct connection *c, const char *name, struct arena *arena,
                                  const char **ret_token, struct error *err);
int tls_access_end_metrics_token(struct connection *c, const char *name, struct arena *arena,
                                 struct error *err);
