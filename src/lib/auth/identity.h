/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - who is calling, as far as it was proven
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct user;

enum identity_proof {
    IDENTITY_LOCAL,      /* SO_PEERCRED of the controller's own socket */
    IDENTITY_CREDENTIAL, /* a credential of this very request */
    IDENTITY_SESSION,    /* a session that a credential opened */
    IDENTITY_TOKEN,      /* a bearer token, over a connection nobody reads */
};

#define IDENTITY_NODE_SIZE 254 /* a DNS name and a NUL */

struct identity {
    uid_t uid;
    gid_t gid;
    enum identity_proof proof;
    bool seals_headers;      /* whoever proved it wrote the headers, too */
    const struct user *user; /* borrowed from the grant; never NULL */
    /* The node whose secret was proven with the session, "" if none. */
    char node_name[IDENTITY_NODE_SIZE];
};
