/* SPDX-License-Identifier: Apache-2.0 */
/* principal.h - who asks, and as what: a proven identity under the site's
 * policy
 *
 * A user of the rank that the policy gives, the agent of a node that proved
 * its secret, or one of the controller's own rooms.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/api/object/rights.h"
#include "lib/auth/identity.h"

struct policy;

struct principal {
    enum principal_type type;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t n_groups;
    const char *name;          /* of the user; of the room */
    const char *node;          /* of an agent, else NULL */
    enum identity_proof proof; /* of what came over HTTP */
    bool seals_headers;        /* nobody else can have written its headers */

    /* The administrator who asks as this user, or NULL: by the principal's own
     * name. It gives no right.
     */
    const struct principal *impersonator;
};

/* Everything is borrowed from the identity. */
void principal_of_identity(const struct identity *identity,
                           const struct policy *policy,
                           struct principal *ret_principal);

/* "alice", "the agent of node 'n1'"; for messages. */
const char *principal_describe(const struct principal *principal,
                               char buffer[320]);

/* A person, whatever the rank: what they make is theirs. */
bool principal_is_person(const struct principal *principal);
