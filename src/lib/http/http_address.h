/* SPDX-License-Identifier: Apache-2.0 */
/* http_address.h - the server of a client: a parsed URL, and sockets to it
 *
 * A server may have several places, of which one answers at a time:
 * "http://HOST:PORT,HOST:PORT". Only this module looks at the scheme.
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

struct http_host {
    char *name;
    char *port;
};

struct http_address {
    char *url;  /* as the caller gave it */
    char *path; /* of a Unix socket, or NULL */
    struct http_host *hosts;
    unsigned n_hosts;
    char *host_header; /* of the first host */
    bool is_secure;    /* "https://" */
};

/* Life. Parse: 0, or -EINVAL with a text. */
void http_address_fini(struct http_address *a);
int http_address_parse(const char *url, bool knows_tls, struct http_address *ret_address,
                       struct error *err);

/* A copy, of which the hosts begin with number `first`, modulo their count. */
void http_address_copy(const struct http_address *a, unsigned first, struct http_address *ret);

/* Resolve appends the endpoints to try in turn. It may block and may run on any
 * thread; 0 or a negative errno with a text if there is no endpoint at all. Not
 * for a Unix socket. Without `resolve` only numeric addresses are accepted. Connect starts connecting and
 * returns the socket, or a negative errno.
 */
int http_address_resolve(const struct http_address *a, http_resolve_fn *resolve,
                         struct http_endpoints *places, struct error *err);
int http_address_connect_tcp(const struct http_endpoint *at, int *ret_fd);
int http_address_connect_unix(const struct http_address *a, int *ret_fd);
