/* SPDX-License-Identifier: Apache-2.0 */
/* rights.h - which requests a kind has, and who may make them
 *
 * A kind's descriptor names its subresources and what principals other than
 * administrators may do. A right gives a scope to principals, verbs and a
 * subresource. The first of a kind's rights that fits decides; then the rights
 * of every kind apply (controller/apiserver/access/authorization.c):
 * administrators may do everything, users and the controller's own components
 * may read. A request that no right covers is refused.
 *
 * Thread:  any; constants.
 */
#pragma once

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_REPLACE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETE_COLLECTION,
    N_VERBS,
};

enum subresource {
    SUBRESOURCE_NONE,
    SUBRESOURCE_STATUS, /* for kinds with KIND_HAS_STATUS */
    SUBRESOURCE_APPROVE,
    SUBRESOURCE_BINDING,
    SUBRESOURCE_ELEMENTS,
    SUBRESOURCE_END,
    SUBRESOURCE_ENROL,
    SUBRESOURCE_ENVIRONMENT,
    SUBRESOURCE_EVICTION,
    SUBRESOURCE_EXEC,
    SUBRESOURCE_EXEC_GRANT,
    SUBRESOURCE_FINALIZE,
    SUBRESOURCE_GANG,
    SUBRESOURCE_LOG,
    SUBRESOURCE_MARK,
    SUBRESOURCE_REQUESTS,
    SUBRESOURCE_RESET,
    SUBRESOURCE_SCRIPT,
    SUBRESOURCE_START,
    SUBRESOURCE_STEPS,
    SUBRESOURCE_USAGE,
    SUBRESOURCE_WHY,
    N_SUBRESOURCES,
};

enum principal_type {
    PRINCIPAL_USER,
    PRINCIPAL_OPERATOR,
    PRINCIPAL_ADMINISTRATOR,
    PRINCIPAL_AGENT,     /* of one node */
    PRINCIPAL_ENROLLING, /* root of a machine that may become an agent */
    PRINCIPAL_SCHEDULER,
    PRINCIPAL_LIFECYCLE,
};

/* How much of a resource the principal may see or change. */
enum scope {
    SCOPE_NONE,
    SCOPE_MEMBERS, /* namespaces where the principal is a member */
    SCOPE_OWN,     /* objects that run as the principal */
    SCOPE_NODE,    /* the agent's node, its lease, pods bound to it */
    SCOPE_ALL,
};

struct right {
    unsigned principals; /* bits: BY_USER, ... */
    unsigned verbs;      /* bits: MAY_READ, ... */
    enum subresource subresource;
    enum scope scope;
};

struct kind_subresource {
    enum subresource subresource;
    unsigned verbs; /* with KILN_ONLY if kube-apiserver does not have it */
};

/* Sets of verbs and of principals. */
#define VERB_BIT(verb) (1u << (verb))
#define MAY_GET        VERB_BIT(VERB_GET)
#define MAY_READ       (VERB_BIT(VERB_GET) | VERB_BIT(VERB_LIST) | VERB_BIT(VERB_WATCH))
#define MAY_CREATE     VERB_BIT(VERB_CREATE)
#define MAY_UPDATE     (VERB_BIT(VERB_REPLACE) | VERB_BIT(VERB_PATCH))
#define MAY_DELETE     VERB_BIT(VERB_DELETE)
#define MAY_REMOVE     (VERB_BIT(VERB_DELETE) | VERB_BIT(VERB_DELETE_COLLECTION))
#define KILN_ONLY      VERB_BIT(N_VERBS) /* no verb: absent in conformance */
#define MAY_WRITE      (MAY_CREATE | MAY_UPDATE | MAY_REMOVE)

#define PRINCIPAL_BIT(principal) (1u << (principal))
#define BY_USER                  PRINCIPAL_BIT(PRINCIPAL_USER)
#define BY_OPERATOR              PRINCIPAL_BIT(PRINCIPAL_OPERATOR)
#define BY_USERS                 (BY_USER | BY_OPERATOR)
#define BY_AGENT                 PRINCIPAL_BIT(PRINCIPAL_AGENT)
#define BY_ENROLLING             PRINCIPAL_BIT(PRINCIPAL_ENROLLING)
#define BY_SCHEDULER             PRINCIPAL_BIT(PRINCIPAL_SCHEDULER)
#define BY_LIFECYCLE             PRINCIPAL_BIT(PRINCIPAL_LIFECYCLE)
