/* SPDX-License-Identifier: Apache-2.0 */
/* principal.h - who makes a request: an authenticated identity and its type
 * under the site's policy
 *
 * A user with the rank that the policy gives, the agent of a node that proved
 * its secret, or one of the controller's own components.
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
    const char *name;          /* of the user or the component */
    const char *node;          /* of an agent, else NULL */
    enum identity_proof proof; /* only of requests over HTTP */
    bool seals_headers;        /* nobody else can have written its headers */

    /* The administrator who impersonates this user, with the administrator's
     * own name; or NULL. It gives no rights.
     */
    const struct principal *impersonator;
};

/* All data is borrowed from the identity. */
void principal_of_identity(const struct identity *identity, const struct policy *policy,
                           struct principal *ret_principal);

/* "alice", "the agent of node 'n1'"; for messages. */
const char *principal_describe(const struct principal *principal, char buffer[320]);

/* Whether it is a person, of any rank. A person owns the objects that the
 * person creates.
 */
bool principal_is_person(const struct principal *principal);
