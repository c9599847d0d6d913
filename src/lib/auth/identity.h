/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the authenticated client of a request
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct user;

enum identity_proof {
    IDENTITY_LOCAL,      /* SO_PEERCRED of the controller's own socket */
    IDENTITY_CREDENTIAL, /* a credential sent with this request */
    IDENTITY_SESSION,    /* a session that a credential opened */
    IDENTITY_TOKEN,      /* a bearer token, over TLS */
};

#define IDENTITY_NODE_SIZE 254 /* a DNS name and a NUL */

struct identity {
    uid_t uid;
    gid_t gid;
    enum identity_proof proof;
    bool seals_headers;      /* the proof covers the request's headers */
    const struct user *user; /* borrowed from the grant; never NULL */
    /* The node whose secret was proven when the session was opened, or "". */
    char node_name[IDENTITY_NODE_SIZE];
};
