/* SPDX-License-Identifier: Apache-2.0 */
/* http_endpoint.h - where a host is on the network: addresses to try in turn
 *
 * Who finds them for a name is a client's setting (http_client.h), because a
 * program that is linked statically must not use the C library's way: that
 * loads shared libraries at run time.
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
};

struct http_endpoints {
    struct http_endpoint *items;
    size_t count;
    size_t capacity;
};

/* Life. Zeroed is empty. */
void http_endpoints_fini(struct http_endpoints *places);

/* Change. An address in figures ("10.1.2.3", "fe80::1%eth0"): whether it is
 * one.
 */
bool http_endpoints_add(struct http_endpoints *places, const char *address);
