/* SPDX-License-Identifier: Apache-2.0 */
/* tls_client.h - the client's side of TLS: whom it trusts, and what it shows
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

/* All PEM, as a file or as base64 of it, which counts more; NULL or "" where
 * there is none.
 */
struct tls_client_settings {
    const char *authority_file; /* none: those the system trusts */
    const char *authority_data;
    const char *certificate_file; /* with its key: who we are */
    const char *certificate_data;
    const char *key_file;
    const char *key_data;
    const char *server_name; /* none: the host that was dialled */
    bool is_insecure;        /* the server may be anybody */
};

/* Life. Open refuses what cannot be read or does not go together, -EINVAL with
 * words. Free after the connections.
 */
void tls_client_free(struct tls_client *t);
int tls_client_open(const struct tls_client_settings *settings,
                    struct tls_client **ret_client,
                    struct error *err);
DEFINE_CLEANUP(struct tls_client, tls_client_free)

/* For http_client_layer: one connection, whose handshake begins when it is
 * enabled, and why that has failed.
 */
struct bufferevent *tls_client_make(struct event_base *base,
                                    int fd,
                                    const char *host,
                                    void *tls_client);
const char *tls_client_why(struct bufferevent *bev);
