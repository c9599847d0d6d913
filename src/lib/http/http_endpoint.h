/* SPDX-License-Identifier: Apache-2.0 */
/* http_endpoint.h - network addresses of a host, to be tried in turn
 *
 * The resolver of names is a setting of the client (http_client.h), because a
 * statically linked program must not use the C library's resolver, which loads
 * shared libraries at run time.
 *
 * Thread:  any.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct http_endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    socklen_t length;
    unsigned n_host; /* of the address: http_address.h */
};

struct http_endpoints {
    struct http_endpoint *items;
    size_t count;
    size_t capacity;
};

/* Life. A zeroed struct is empty. */
void http_endpoints_fini(struct http_endpoints *places);

/* Appends a numeric address ("10.1.2.3", "fe80::1%eth0"); false if it
 * is none.
 */
bool http_endpoints_add(struct http_endpoints *places, const char *address);
