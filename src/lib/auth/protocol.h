/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the texts of the identity protocol, shared by both sides
 *
 * Pure functions; doc/protocol.md is the specification. A "claim" is the
 * payload of a credential: lines of name=value. A "statement" is the text that
 * a MAC is computed over.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/auth/digest.h"

struct error;
struct strbuf;

#define PROTOCOL_VERSION        1
#define PROTOCOL_SESSION_TARGET "/kiln/v1/session"
#define PROTOCOL_TTL_S          60u
#define PROTOCOL_NONCE_SIZE     33 /* 32 hexadecimal digits and a NUL */

/* Headers of answers; a request uses Authorization. */
#define PROTOCOL_MAC_HEADER        "Kiln-Mac"
#define PROTOCOL_CREDENTIAL_HEADER "Kiln-Credential"

enum claim_purpose {
    CLAIM_HELLO,       /* client asks for a session */
    CLAIM_WELCOME,     /* server grants the session */
    CLAIM_REQUEST,     /* client sends one request */
    CLAIM_ANSWER,      /* server answers that request */
    CLAIM_STEP,        /* a client asks an agent for a connection of a step */
    CLAIM_STEP_ANSWER, /* that agent grants the connection */
    CLAIM_EXEC_GRANT,  /* the controller allows a connection to a pod (exec_grant.h) */
};

/* Text members point into `memory` after parsing, are "" when the purpose does
 * not have them, and never contain a newline.
 */
struct protocol_claim {
    enum claim_purpose purpose;
    const char *cluster;
    const char *nonce;        /* the client's, for all purposes */
    const char *node;         /* hello: the client's; step, exec-grant: the agent's */
    const char *pod;          /* step, exec-grant: the uid of a pod */
    const char *proof;        /* hello: hexadecimal */
    const char *session;      /* welcome */
    const char *key;          /* welcome, step, step-answer, exec-grant: hexadecimal */
    int64_t uid;              /* exec-grant: of the pod's owner */
    const char *by;           /* exec-grant: who asked for it */
    int64_t issued_ms;        /* exec-grant: since 1970 */
    int64_t lifetime_s;       /* welcome */
    const char *method;       /* request */
    const char *target;       /* request */
    int status;               /* answer */
    const char *content_type; /* request, answer */
    const char *body;         /* request, answer: digest, hexadecimal */
    const char *headers;      /* request of version 2: digest; else NULL */
    char *memory;
};
void protocol_claim_fini(struct protocol_claim *c);

/* Format: -EINVAL when a member has a control character. Parse: -EPROTO for a
 * text that is no claim, is of another version, or lacks a member.
 */
int protocol_claim_format(const struct protocol_claim *c, struct strbuf *out);
int protocol_claim_parse(const char *payload, size_t length, enum claim_purpose purpose,
                         struct protocol_claim *ret_claim, struct error *err);

/* Makes a random nonce. */
void protocol_nonce(char out[PROTOCOL_NONCE_SIZE]);

/* Version 2 seals headers that change the meaning of a request: each is a line
 * "name: value" with the name in lower case, in the order of the request. Adds
 * the line of one header; adds nothing for a header that is not sealed.
 */
void protocol_add_sealed(struct strbuf *out, const char *name, const char *value);

/* MACs of a session. `sealed`: the lines of protocol_add_sealed; NULL: version
 * 1, which covers no headers. An answer and its frames carry the sequence
 * number of their request; frames are counted from 1. The head of a stream is
 * an answer whose body digest is that of no bytes; the end of a stream is a
 * frame of its own kind.
 */
void protocol_request_mac(const struct digest *key, uint64_t seq, const char *method,
                          const char *target, const char *content_type, const struct digest *body,
                          const char *sealed, struct digest *ret_mac);
void protocol_answer_mac(const struct digest *key, uint64_t seq, int status,
                         const char *content_type, const struct digest *body,
                         struct digest *ret_mac);
void protocol_frame_mac(const struct digest *key, uint64_t seq, uint64_t number,
                        const struct digest *frame, struct digest *ret_mac);
void protocol_end_mac(const struct digest *key, uint64_t seq, uint64_t n_frames,
                      struct digest *ret_mac);

/* "Kiln session=ID,seq=N,mac2=HEX", the value of Authorization; "mac" in
 * version 1. Parse returns 0 or -EINVAL; the session is borrowed from the text.
 */
struct protocol_authorization {
    const char *session;
    size_t session_length;
    uint64_t seq;
    struct digest mac;
    bool is_sealed; /* version 2 */
};
void protocol_format_authorization(struct strbuf *out, const char *session, uint64_t seq,
                                   const struct digest *mac, bool is_sealed);
int protocol_parse_authorization(const char *text, struct protocol_authorization *ret_parsed);
