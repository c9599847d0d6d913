/* SPDX-License-Identifier: Apache-2.0 */
/* http_address.h - where a client connects to: a parsed URL, and its sockets
 *
 * The scheme decides here alone; TLS is to come in as another one.
 *
 * Called by: http_client.c and http_link.c.
 */
#pragma once

#include <netdb.h>

#include "lib/base/macro.h"

struct error;

struct http_address {
    char *url;  /* as given */
    char *path; /* of a Unix socket, or NULL */
    char *host;
    char *port;
    char *host_header;
};

/* Life. Parse: 0, or -EINVAL with words. */
void http_address_fini(struct http_address *a);
int http_address_parse(const char *url,
                       struct http_address *ret_address,
                       struct error *err);

/* Resolve: the places to try in turn, freed with freeaddrinfo; may block, on
 * any thread; 0 or a negative errno with words. Not for a Unix socket.
 * Connect: starts connecting and gives the socket; a negative errno.
 */
int http_address_resolve(const struct http_address *a,
                         struct addrinfo **ret_found,
                         struct error *err);
int http_address_connect_tcp(const struct addrinfo *at, int *ret_fd);
int http_address_connect_unix(const struct http_address *a, int *ret_fd);
