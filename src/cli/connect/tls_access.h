/* SPDX-License-Identifier: Apache-2.0 */
/* tls_access.h - URL, certificate and token for another tool to connect by TLS
 *
 * Both come from the controller by the ordinary connection, which proves the
 * caller to the controller and the controller to the caller.
 *
 * Thread: the main one.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct connection;
struct error;

/* Finds the endpoint; its texts are in the arena. The URL names the controller
 * by `host`, or as this program did when `host` is NULL.
 */
struct tls_endpoint {
    const char *url;              /* "https://head:6821" */
    const char *cluster;          /* its name */
    const char *authority_base64; /* certificates in PEM, in base64 */
};
int tls_access_find_endpoint(struct connection *connection,
                             const char *host,
                             struct arena *arena,
                             struct tls_endpoint *ret_endpoint,
                             struct error *err);

/* A token of the caller, and the time when it expires (RFC 3339). */
struct tls_access_token {
    const char *text;
    const char *ends_at;
};
int tls_access_get_token(struct connection *connection,
                         struct arena *arena,
                         struct tls_access_token *ret_token,
                         struct error *err);

/* A token that reads the controller's metrics and nothing else, until it is
 * ended. The name must need no escape in a query.
 */
int tls_access_make_metrics_token(struct connection *c,
                                  const char *name,
                                  struct arena *arena,
                                  const char **ret_token,
                                  struct error *err);
int tls_access_end_metrics_token(struct connection *c,
                                 const char *name,
                                 struct arena *arena,
                                 struct error *err);
