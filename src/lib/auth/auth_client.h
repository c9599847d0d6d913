/* SPDX-License-Identifier: Apache-2.0 */
/* auth_client.h - the client's side of the identity protocol
 *
 * Makes the headers that prove a request and checks those that prove its
 * answer. This module knows no HTTP; lib/http/http_login.h applies it to
 * connections.
 *
 * Thread: hello, sign_once and the two checks of credentials call the
 *         credential_backend and block; the other calls only compute.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/auth/digest.h"
#include "lib/auth/protocol.h"
#include "lib/base/macro.h"

struct auth_client;
struct error;
struct credential_backend;
struct node_secret;
struct strbuf;

struct auth_client_settings {
    struct credential_backend *credential_backend;
    const char *cluster;
    uid_t service_uid;                /* the controller's */
    const char *node_name;            /* for agents: the node's name; or NULL */
    const struct node_secret *secret; /* for agents: the node's secret; NULL before it has one */
};

/* Life. All settings but the credential_backend are copied. */
void auth_client_free(struct auth_client *client);
struct auth_client *auth_client_new(const struct auth_client_settings *settings)
    OWNED_BY(auth_client_free);
DEFINE_CLEANUP(struct auth_client, auth_client_free)

/* A session lasts as long as its connection. Hello makes the Authorization
 * header of the POST to PROTOCOL_SESSION_TARGET; welcome takes the credential
 * of the answer. After that each request is signed, in the order in which the
 * requests are sent, and each answer is checked.
 */
struct auth_line {
    bool is_open;
    char nonce[PROTOCOL_NONCE_SIZE];
    char session[64];
    struct digest key;
    uint64_t seq; /* the sequence number used last */
    int64_t lifetime_s;
};
int auth_client_hello(struct auth_client *client, struct auth_line *line,
                      struct strbuf *ret_authorization, struct error *err);
int auth_client_welcome(struct auth_client *client, struct auth_line *line, const char *credential,
                        struct error *err);
void auth_line_sign(struct auth_line *line, const char *method, const char *target,
                    const char *content_type, const void *body, size_t length, const char *sealed,
                    struct strbuf *ret_authorization);
int auth_line_check(const struct auth_line *line, uint64_t seq, const char *mac_header, int status,
                    const char *content_type, const void *body, size_t length, struct error *err);

/* Signs and checks one request that carries a credential of its own. */
int auth_client_sign_once(struct auth_client *client, const char *method, const char *target,
                          const char *content_type, const void *body, size_t length,
                          const char *sealed, char ret_nonce[PROTOCOL_NONCE_SIZE],
                          struct strbuf *ret_authorization, struct error *err);
int auth_client_check_once(struct auth_client *client, const char *nonce, const char *credential,
                           int status, const char *content_type, const void *body, size_t length,
                           struct error *err);

/* Checks the frames of a stream: takes bytes as they arrive and passes on the
 * frames whose MAC is right. Feed calls `fn` for each frame and returns
 * -EKEYREJECTED at the first one whose MAC is wrong. Finish is called at the
 * end of the stream and fails if the stream was cut off before the server ended
 * it.
 */
struct auth_frames;
typedef void (*auth_frame_fn)(const void *bytes, size_t length, void *arg);
void auth_frames_free(struct auth_frames *frames);
struct auth_frames *auth_frames_new(const struct auth_line *line, uint64_t seq, auth_frame_fn fn,
                                    void *arg) OWNED_BY(auth_frames_free);
int auth_frames_feed(struct auth_frames *frames, const void *bytes, size_t length,
                     struct error *err);
int auth_frames_finish(struct auth_frames *frames, struct error *err);
