/* SPDX-License-Identifier: Apache-2.0 */
/* caller.h - who asks, and as what: a proven identity under the site's policy
 *
 * A user of the rank that the policy gives, the agent of a node that proved
 * its secret, or one of the controller's own rooms.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/auth/identity.h"

struct policy;

enum caller_type {
    CALLER_USER,
    CALLER_OPERATOR,
    CALLER_ADMINISTRATOR,
    CALLER_AGENT,     /* of one node */
    CALLER_ENROLLING, /* may become an agent: root of some machine */
    CALLER_SCHEDULER,
    CALLER_LIFECYCLE,
};

struct caller {
    enum caller_type type;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t n_groups;
    const char *name;          /* of the user; of the room */
    const char *node;          /* of an agent, else NULL */
    enum identity_proof proof; /* of what came over HTTP */
    bool seals_headers;        /* nobody else can have written its headers */

    /* The administrator who asks as this user, or NULL: by the caller's own
     * name. It gives no right.
     */
    const struct caller *impersonator;
};

/* Everything is borrowed from the identity. */
void caller_of_identity(const struct identity *identity,
                        const struct policy *policy,
                        struct caller *ret_caller);

/* "alice", "the agent of node 'n1'"; for messages. */
const char *caller_describe(const struct caller *caller, char buffer[320]);

/* A person, whatever the rank: what they make is theirs. */
bool caller_is_person(const struct caller *caller);
