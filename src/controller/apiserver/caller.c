/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/caller.h"

#include <stdio.h>
#include <string.h>

#include "controller/apiserver/policy.h"
#include "lib/auth/identity.h"
#include "lib/auth/user.h"

static enum caller_type
type_of(const struct identity *id, const struct policy *policy)
{
    const struct user *user = id->user;

    if (policy->is_conformance)
        return CALLER_ADMINISTRATOR;
    if (id->node_name[0] != '\0')
        return CALLER_AGENT;
    /* Root of a compute node is not root of the cluster; tokens of root are
     * given to the controller's own alone (access.c).
     */
    if (id->uid == 0
        && (id->proof == IDENTITY_LOCAL || id->proof == IDENTITY_TOKEN))
        return CALLER_ADMINISTRATOR;
    if (policy_people_has(&policy->administrators,
                          id->uid,
                          user->groups,
                          user->n_groups))
        return CALLER_ADMINISTRATOR;
    if (policy_people_has(&policy->operators,
                          id->uid,
                          user->groups,
                          user->n_groups))
        return CALLER_OPERATOR;
    if (id->uid == 0)
        return CALLER_ENROLLING;
    return CALLER_USER;
}

void
caller_of_identity(const struct identity *identity,
                   const struct policy *policy,
                   struct caller *ret_caller)
{
    memset(ret_caller, 0, sizeof(*ret_caller));
    ret_caller->type = type_of(identity, policy);
    ret_caller->uid = identity->uid;
    ret_caller->gid = identity->gid;
    ret_caller->proof = identity->proof;
    ret_caller->seals_headers = identity->seals_headers;
    ret_caller->groups = identity->user->groups;
    ret_caller->n_groups = identity->user->n_groups;
    ret_caller->name = identity->user->name;
    if (ret_caller->type == CALLER_AGENT)
        ret_caller->node = identity->node_name;
}

const char *
caller_describe(const struct caller *caller, char buffer[320])
{
    if (caller->type == CALLER_AGENT)
        snprintf(buffer, 320, "the agent of node '%s'", caller->node);
    else
        snprintf(buffer, 320, "user '%s'", caller->name);
    return buffer;
}

bool
caller_is_person(const struct caller *caller)
{
    return caller->type == CALLER_USER || caller->type == CALLER_OPERATOR
           || caller->type == CALLER_ADMINISTRATOR;
}
