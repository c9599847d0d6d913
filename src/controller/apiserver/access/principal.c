/* SPDX-License-Identifier: Apache-2.0 */
/* Root is administrator on the controller's own socket only. Root of any other machine that
 * has MUNGE's key could claim any uid, so being root there proves no more than being that
 * machine; and a machine proves itself by the secret that it was enrolled with.
 */
#include "controller/apiserver/access/principal.h"

#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "lib/auth/identity.h"
#include "lib/auth/user.h"

static enum principal_type
type_of(const struct identity *id, const struct policy *policy)
{
    const struct user *user = id->user;

    if (id->node_name[0] != '\0')
        return PRINCIPAL_AGENT;
    /* Root of a compute node is not root of the cluster. Tokens of root are
     * issued only to the controller's own (token_endpoint.c).
     */
    if (id->uid == 0 && (id->proof == IDENTITY_LOCAL || id->proof == IDENTITY_TOKEN))
        return PRINCIPAL_ADMINISTRATOR;
    if (policy_people_has(&policy->administrators, id->uid, user->groups, user->n_groups))
        return PRINCIPAL_ADMINISTRATOR;
    if (policy_people_has(&policy->operators, id->uid, user->groups, user->n_groups))
        return PRINCIPAL_OPERATOR;
    if (id->uid == 0)
        return PRINCIPAL_ENROLLING;
    return PRINCIPAL_USER;
}

void
principal_of_identity(const struct identity *identity, const struct policy *policy,
                      struct principal *ret_principal)
{
    memset(ret_principal, 0, sizeof(*ret_principal));
    ret_principal->type = type_of(identity, policy);
    ret_principal->uid = identity->uid;
    ret_principal->gid = identity->gid;
    ret_principal->proof = identity->proof;
    ret_principal->seals_headers = identity->seals_headers;
    ret_principal->groups = identity->user->groups;
    ret_principal->n_groups = identity->user->n_groups;
    ret_principal->name = identity->user->name;
    if (ret_principal->type == PRINCIPAL_AGENT)
        ret_principal->node = identity->node_name;
}

const char *
principal_describe(const struct principal *principal, char buffer[320])
{
    if (principal->type == PRINCIPAL_AGENT)
        snprintf(buffer, 320, "the agent of node '%s'", principal->node);
    else
        snprintf(buffer, 320, "user '%s'", principal->name);
    return buffer;
}

bool
principal_is_person(const struct principal *principal)
{
    return principal->type == PRINCIPAL_USER || principal->type == PRINCIPAL_OPERATOR
           || principal->type == PRINCIPAL_ADMINISTRATOR;
}
