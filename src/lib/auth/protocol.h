/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - the texts that both sides of the identity protocol agree on
 *
 * Pure functions; doc/protocol.md is the specification. A "claim" is the
 * payload of a credential: lines of name=value. A "statement" is the text a
 * MAC is taken of.
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

/* Headers of answers; a request's is Authorization. */
#define PROTOCOL_MAC_HEADER        "Kiln-Mac"
#define PROTOCOL_CREDENTIAL_HEADER "Kiln-Credential"

enum claim_purpose {
    CLAIM_HELLO,   /* client: open a session */
    CLAIM_WELCOME, /* server: here it is */
    CLAIM_REQUEST, /* client: this one request */
    CLAIM_ANSWER,  /* server: its answer */
};

/* Text members point into `memory` after parsing, are "" when the purpose has
 * none, and never hold a newline.
 */
struct claim {
    enum claim_purpose purpose;
    const char *cluster;
    const char *nonce;        /* the client's, in all four */
    const char *node;         /* hello */
    const char *proof;        /* hello: hexadecimal */
    const char *session;      /* welcome */
    const char *key;          /* welcome: hexadecimal */
    int64_t lifetime_s;       /* welcome */
    const char *method;       /* request */
    const char *target;       /* request */
    int status;               /* answer */
    const char *content_type; /* request, answer */
    const char *body;         /* request, answer: digest, hexadecimal */
    const char *headers;      /* request of version 2: digest; else NULL */
    char *memory;
};
void claim_fini(struct claim *c);

/* Format: -EINVAL when a member holds a control character. Parse: -EPROTO for
 * what is not such a text, another version, or lacks a member.
 */
int claim_format(const struct claim *c, struct strbuf *out);
int claim_parse(const char *payload,
                size_t length,
                enum claim_purpose purpose,
                struct claim *ret_claim,
                struct error *err);

/* A fresh nonce. */
void protocol_nonce(char out[PROTOCOL_NONCE_SIZE]);

/* Headers that change what a request means are sealed in version 2: each as a
 * line "name: value", its name in lower case, in the order of the request. Adds
 * the line of one; nothing for a header that is not sealed.
 */
void
protocol_add_sealed(struct strbuf *out, const char *name, const char *value);

/* MACs of a session. `sealed`: the lines above; NULL: version 1, which covers
 * no headers. Seq is the request's in its answer and its frames;
 * frames count from 1. A stream's head is an answer whose body digest is that
 * of no bytes; the end of a stream is a frame of its own kind.
 */
void protocol_request_mac(const struct digest *key,
                          uint64_t seq,
                          const char *method,
                          const char *target,
                          const char *content_type,
                          const struct digest *body,
                          const char *sealed,
                          struct digest *ret_mac);
void protocol_answer_mac(const struct digest *key,
                         uint64_t seq,
                         int status,
                         const char *content_type,
                         const struct digest *body,
                         struct digest *ret_mac);
void protocol_frame_mac(const struct digest *key,
                        uint64_t seq,
                        uint64_t number,
                        const struct digest *frame,
                        struct digest *ret_mac);
void protocol_end_mac(const struct digest *key,
                      uint64_t seq,
                      uint64_t n_frames,
                      struct digest *ret_mac);

/* "Kiln session=ID,seq=N,mac2=HEX", the value of Authorization; "mac" in
 * version 1. Parse: 0 or
 * -EINVAL; the session is borrowed from the text.
 */
struct protocol_authorization {
    const char *session;
    size_t session_length;
    uint64_t seq;
    struct digest mac;
    bool is_sealed; /* version 2 */
};
void protocol_format_authorization(struct strbuf *out,
                                   const char *session,
                                   uint64_t seq,
                                   const struct digest *mac,
                                   bool is_sealed);
int protocol_parse_authorization(const char *text,
                                 struct protocol_authorization *ret_parsed);
