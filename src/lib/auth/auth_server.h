/* SPDX-License-Identifier: Apache-2.0 */
/* auth_server.h - the controller's side of the identity protocol: turns a
 * request into an identity, and authenticates the answer
 *
 * This module knows no HTTP: it takes the parts of a request and returns
 * headers. A request of a session is checked at once, on the loop's thread; one
 * with a credential goes to a worker. For all input of a client the result is a
 * grant, or an error with a text for that client: -EKEYREJECTED (401) or
 * -EHOSTDOWN (503, the service that checks credentials does not answer).
 *
 * Called by:  the apiserver's identity step.
 * Thread:     the loop's.
 * See:        doc/protocol.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/auth/digest.h"
#include "lib/auth/identity.h"
#include "lib/base/macro.h"

struct auth_grant;
struct auth_server;
struct auth_session;
struct bearer_tokens;
struct clock;
struct error;
struct loop;
struct credential_backend;
struct workers;

/* Finds the verifier of a node's secret (lib/auth/node_secret.h); false if
 * there is no such node or the node has no secret.
 */
typedef bool (*auth_verifier_fn)(const char *node_name, struct digest *ret_verifier, void *arg);

struct auth_server_settings {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    struct clock *clock; /* NULL: clock_system */
    const char *cluster;
    int64_t session_ms;        /* 0: 12 hours */
    size_t sessions;           /* the most at a time; 0: 65,536 */
    auth_verifier_fn verifier; /* NULL: nodes cannot authenticate */
    void *verifier_arg;
    struct bearer_tokens *bearer; /* NULL: no bearer tokens */
};

/* Parts of a request, all borrowed until the call returns. */
struct auth_request {
    const char *authorization; /* the header, or NULL */
    const char *method;
    const char *target;       /* as the client sent it, with its query */
    const char *content_type; /* NULL is "" */
    const void *body;
    size_t length;
    const char *sealed;           /* lines of protocol_add_sealed; NULL is "" */
    struct auth_session *session; /* of this connection, or NULL */
    bool is_secure;               /* TLS: bearer tokens are accepted */
    bool is_local;                /* over a Unix socket; uid and gid are its peer's */
    uid_t uid;
    gid_t gid;
};

/* Life. Free it after the workers (with their `done` functions drained) and
 * after all sessions and grants.
 */
void auth_server_free(struct auth_server *server);
struct auth_server *auth_server_new(const struct auth_server_settings *settings)
    OWNED_BY(auth_server_free);
DEFINE_CLEANUP(struct auth_server, auth_server_free)

/* From now on this process serves in the place of another one: credentials that
 * are older are refused.
 */
void auth_server_begin_lead(struct auth_server *server);

/* Check: `fn` gets the grant (the caller frees it), or NULL and an error. When
 * nothing blocks, `fn` is called before this returns. Without an Authorization
 * header a local peer is authenticated by its uid; any other client is refused.
 */
typedef void (*auth_check_fn)(struct auth_grant *grant TAKES, const struct error *err, void *arg);
void auth_server_check(struct auth_server *server, const struct auth_request *question,
                       auth_check_fn fn, void *arg);

/* Open serves POST PROTOCOL_SESSION_TARGET. `fn` gets a session, which the
 * caller attaches to the connection and frees with it, and the value of the
 * answer's PROTOCOL_CREDENTIAL_HEADER; or NULLs and an error. `fn` is never
 * called before this returns.
 */
typedef void (*auth_open_fn)(struct auth_session *session TAKES, const char *credential,
                             const struct error *err, void *arg);
void auth_server_open(struct auth_server *server, const struct auth_request *question,
                      auth_open_fn fn, void *arg);
void auth_session_free(void *session);
const struct identity *auth_session_identity(const struct auth_session *session);

/* The grant: the identity of the client, and the proof of the answer. Seal:
 * `fn` gets the header to add, or NULLs if none is needed; it is called before
 * this returns except for a grant by credential. If the header cannot be made,
 * `fn` gets an error, and the answer should not be sent.
 */
void auth_grant_free(struct auth_grant *grant);
const struct identity *auth_grant_identity(const struct auth_grant *grant);
typedef void (*auth_seal_fn)(const char *header_name, const char *header_value,
                             const struct error *err, void *arg);
void auth_grant_seal(struct auth_grant *grant, int status, const char *content_type,
                     const struct digest *body, auth_seal_fn fn, void *arg);

/* Streams (watches, logs) are allowed to local peers, bearer tokens and
 * sessions; a grant by credential gets -EKEYREJECTED with a text. The head is
 * sealed with the digest of no bytes. After that the text of auth_grant_frame
 * goes before each frame (a line of a watch with its newline, a piece of a
 * log), and the text of auth_grant_end goes at the end of the stream; without a
 * session both are "". The caller passes the digest of a frame, so that a frame
 * sent to thousands of clients is digested once. Both return the text's length.
 */
#define AUTH_FRAME_SIZE 96 /* "mac LENGTH HEX\n" and a NUL */
int auth_grant_may_stream(const struct auth_grant *grant, struct error *err);
bool auth_grant_seals_frames(const struct auth_grant *grant);
size_t auth_grant_frame(struct auth_grant *grant, const struct digest *frame, size_t frame_length,
                        char out[AUTH_FRAME_SIZE]);
size_t auth_grant_end(struct auth_grant *grant, char out[AUTH_FRAME_SIZE]);
