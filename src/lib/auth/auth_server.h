/* SPDX-License-Identifier: Apache-2.0 */
/* auth_server.h - the controller's side: a request to an identity, an answer
 * to its seal
 *
 * Knows no HTTP: it is given the parts of a request and gives back headers.
 * A request of a session is checked at once, on the loop's thread; one with a
 * credential goes to a worker. Whatever a client sends, the outcome is a
 * grant or an error with words for that client: -EKEYREJECTED (401) or
 * -EHOSTDOWN (503, the service that checks credentials is not there).
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

/* The verifier of a node's secret (lib/auth/node_secret.h): false if there is
 * no such node or it has none.
 */
typedef bool (*auth_verifier_fn)(const char *node_name,
                                 struct digest *ret_verifier,
                                 void *arg);

struct auth_server_settings {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    struct clock *clock; /* NULL: the machine's */
    const char *cluster;
    int64_t session_ms;        /* 0: 12 hours */
    size_t sessions;           /* 0: 65,536 at a time */
    auth_verifier_fn verifier; /* NULL: no nodes */
    void *verifier_arg;
    struct bearer_tokens *bearer; /* NULL: no bearer tokens */
};

/* Parts of a request. All borrowed until the call returns. */
struct auth_request {
    const char *authorization; /* the header, or NULL */
    const char *method;
    const char *target;       /* as written, with its query */
    const char *content_type; /* NULL is "" */
    const void *body;
    size_t length;
    const char *sealed;           /* lines of protocol_add_sealed; NULL is "" */
    struct auth_session *session; /* of this connection, or NULL */
    bool is_secure; /* nobody else reads it: the way of bearer tokens */
    bool is_local;  /* by a Unix socket, whose peer is the two below */
    uid_t uid;
    gid_t gid;
};

/* Life. Free after the workers (their `done`s drained) and after all sessions
 * and grants.
 */
void auth_server_free(struct auth_server *server);
struct auth_server *auth_server_new(const struct auth_server_settings *settings)
    OWNED_BY(auth_server_free);
DEFINE_CLEANUP(struct auth_server, auth_server_free)

/* Check: `fn` gets the grant (yours to free) or NULL and an error; before this
 * returns where nothing blocks. With no Authorization at all, a local peer is
 * itself; anybody else is refused.
 */
typedef void (*auth_check_fn)(struct auth_grant *grant TAKES,
                              const struct error *err,
                              void *arg);
void auth_server_check(struct auth_server *server,
                       const struct auth_request *question,
                       auth_check_fn fn,
                       void *arg);

/* Open: for POST PROTOCOL_SESSION_TARGET. `fn` gets a session to hang on the
 * connection (yours, freed with it) and the value of the answer's
 * PROTOCOL_CREDENTIAL_HEADER; or NULLs and an error. Always later.
 */
typedef void (*auth_open_fn)(struct auth_session *session TAKES,
                             const char *credential,
                             const struct error *err,
                             void *arg);
void auth_server_open(struct auth_server *server,
                      const struct auth_request *question,
                      auth_open_fn fn,
                      void *arg);
void auth_session_free(void *session);
const struct identity *
auth_session_identity(const struct auth_session *session);

/* The grant: who, and how the answer proves itself. Seal: `fn` gets the
 * header to add, or NULLs if none is needed; at once, but for a grant by
 * credential. A failure to make one is an error, and then the answer should
 * not go out.
 */
void auth_grant_free(struct auth_grant *grant);
const struct identity *auth_grant_identity(const struct auth_grant *grant);
typedef void (*auth_seal_fn)(const char *header_name,
                             const char *header_value,
                             const struct error *err,
                             void *arg);
void auth_grant_seal(struct auth_grant *grant,
                     int status,
                     const char *content_type,
                     const struct digest *body,
                     auth_seal_fn fn,
                     void *arg);

/* Streams (watches, logs): allowed to local peers and sessions; -EKEYREJECTED
 * with words for a grant by credential. The head is sealed with the digest of
 * no bytes. Then the text of auth_grant_frame goes before each frame (a line
 * of a watch with its newline, a piece of a log), and that of auth_grant_end
 * at the end of the stream; both are "" for a local peer. The digest of a
 * frame is handed in, so that a frame sent to thousands is digested once.
 * Both return the text's length.
 */
#define AUTH_FRAME_SIZE 96 /* "mac LENGTH HEX\n" and a NUL */
int auth_grant_may_stream(const struct auth_grant *grant, struct error *err);
bool auth_grant_seals_frames(const struct auth_grant *grant);
size_t auth_grant_frame(struct auth_grant *grant,
                        const struct digest *frame,
                        size_t frame_length,
                        char out[AUTH_FRAME_SIZE]);
size_t auth_grant_end(struct auth_grant *grant, char out[AUTH_FRAME_SIZE]);

/* Look */
size_t auth_server_sessions(const struct auth_server *server);
