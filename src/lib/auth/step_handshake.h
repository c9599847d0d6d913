/* SPDX-License-Identifier: Apache-2.0 */
/* step_handshake.h - a caller and the agent of another node find keys for the
 * connection of a step
 *
 * The caller sends one line with a credential that only the agent's user can
 * read; it names the node that is to receive it and the pod, because a munged
 * knows only the replays on its own machine. The agent answers with a line
 * whose credential only the caller can read. Each has half of an X25519
 * exchange, so that who gets MUNGE's key later cannot read what was recorded.
 * doc/protocol.md is the specification; sealed_records.h carries what follows.
 *
 * Thread: begin, finish and accept call the credential_backend and block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/auth/protocol.h"
#include "lib/auth/sealed_records.h"

#define STEP_LINE_MOST ((size_t)4096) /* bytes of a line of the handshake */

struct credential_backend;
struct error;
struct strbuf;

/* The keys of both directions, seen from the side that has them. */
struct step_keys {
    struct sealed_state out;
    struct sealed_state in;
};

/* The caller's side. Begin makes the line to send; finish takes the line that
 * came back (without its newline) and wipes the call. -ECONNREFUSED with the
 * agent's words when it refused, which nothing proves; -EKEYREJECTED when the
 * line is not the answer of `agent_uid` to this call. All texts are borrowed.
 */
struct step_call {
    const char *cluster;
    const char *node; /* that receives the call */
    const char *pod;  /* the uid of the pod on that node */
    uid_t agent_uid;
    char nonce[PROTOCOL_NONCE_SIZE]; /* this and the next: private */
    unsigned char secret[32];
};
int step_call_begin(struct step_call *call, struct credential_backend *backend,
                    struct strbuf *ret_line, struct error *err);
int step_call_finish(struct step_call *call, struct credential_backend *backend, const char *line,
                     struct step_keys *ret_keys, struct error *err);

/* The agent's side. Accept checks the line of a caller (without its newline)
 * and makes the answer. Before the answer is sent, the agent must find the
 * nonce unused and the pod to be the caller's. -EKEYREJECTED with words for the
 * caller.
 */
struct step_caller {
    uid_t uid;
    gid_t gid;
    char *pod;
    char *by; /* who has a grant of the controller (exec_grant.h); NULL: the user itself */
    char nonce[PROTOCOL_NONCE_SIZE];
    struct step_keys keys;
    char *answer; /* a line with its newline */
};
void step_caller_fini(struct step_caller *c);
int step_caller_accept(struct credential_backend *backend, const char *cluster, const char *node,
                       uid_t own_uid, const char *line, struct step_caller *ret_caller,
                       struct error *err);

/* A line that refuses a call. */
void step_refuse(struct strbuf *out, const char *why);
