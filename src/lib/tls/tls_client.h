/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.h - the client's side of TLS: trusted authorities, and the
 * client's certificate
 *
 * TLS 1.2 and 1.3.
 *
 * Thread:  the loop's.
 * Source:  client-go, rest (TLSConfigFor): the rules of the settings.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct bufferevent;
struct error;
struct event_base;
struct tls_client;

/* All are PEM, as a file or as base64 data; data takes precedence. NULL or ""
 * where there is none.
 */
struct tls_client_settings {
    const char *authority_file; /* none: the system's authorities */
    const char *authority_data;
    const char *certificate_file; /* with its key: authenticates the client */
    const char *certificate_data;
    const char *key_file;
    const char *key_data;
    const char *server_name; /* none: the host of the URL */
    bool is_insecure;        /* the server is not verified */
};

/* Life. Open refuses files that cannot be read or do not match, -EINVAL with a
 * text. Free it after the connections.
 */
void tls_client_free(struct tls_client *t);
int tls_client_open(const struct tls_client_settings *settings, struct tls_client **ret_client,
                    struct error *err);
DEFINE_CLEANUP(struct tls_client, tls_client_free)

/* For http_client_layer: makes one connection, whose handshake starts when it
 * is enabled, and gives the reason of a failed handshake.
 */
struct bufferevent *tls_client_make(struct event_base *base, int fd, const char *host,
                                    void *tls_client);
const char *tls_client_why(struct bufferevent *bev);
