/* SPDX-License-Identifier: Apache-2.0 */
/* http_address.h - where a client connects to: a parsed URL, and its sockets
 *
 * The scheme decides here alone.
 *
 * Called by: http_client.c and http_client_connection.c.
 * Thread:    any.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"
#include "lib/http/http_client.h"

struct error;
struct http_endpoint;
struct http_endpoints;

struct http_address {
    char *url;  /* as given */
    char *path; /* of a Unix socket, or NULL */
    char *host;
    char *port;
    char *host_header;
    bool is_secure; /* "https://" */
};

/* Life. Parse: 0, or -EINVAL with words. */
void http_address_fini(struct http_address *a);
int http_address_parse(const char *url,
                       bool knows_tls,
                       struct http_address *ret_address,
                       struct error *err);

/* Resolve: the places to try in turn, added; may block, on any thread; 0 or a
 * negative errno with words. Not for a Unix socket. Without `resolve`, an
 * address in figures is all that is understood.
 * Connect: starts connecting and gives the socket; a negative errno.
 */
int http_address_resolve(const struct http_address *a,
                         http_resolve_fn *resolve,
                         struct http_endpoints *places,
                         struct error *err);
int http_address_connect_tcp(const struct http_endpoint *at, int *ret_fd);
int http_address_connect_unix(const struct http_address *a, int *ret_fd);
