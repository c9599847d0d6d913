/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/authorization.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/job/job.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/value/selector.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define V(verb)   (1u << (verb))
#define READ      (V(VERB_GET) | V(VERB_LIST) | V(VERB_WATCH))
#define UPDATE    (V(VERB_REPLACE) | V(VERB_PATCH))
#define REMOVE    (V(VERB_DELETE) | V(VERB_DELETE_COLLECTION))
#define WRITE     (V(VERB_CREATE) | UPDATE | REMOVE)
#define ANY_KIND  NULL
#define PLAIN     SUBRESOURCE_NONE
#define ANY_PART  N_SUBRESOURCES
#define STATUS_OF SUBRESOURCE_STATUS
#define CLAIM     (&persistent_volume_claim_kind)
#define VOLUME    (&persistent_volume_kind)
#define MAPS      (&config_map_kind)

/* Read from the top; the first line that fits decides. */
static const struct rule {
    enum principal_type principal;
    unsigned verbs;
    const struct kind *kind;
    enum subresource subresource;
    enum scope scope;
} rules[] = {
    {PRINCIPAL_ADMINISTRATOR, READ | WRITE, ANY_KIND, ANY_PART, SCOPE_ALL},

    /* nodes: cordon, drain, taint, label; jobs: hold, release, cancel */
    {PRINCIPAL_OPERATOR, UPDATE, &node_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_OPERATOR, UPDATE | REMOVE, &job_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_OPERATOR, UPDATE | REMOVE, &pod_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_OPERATOR,
     V(VERB_CREATE),
     &pod_kind,
     SUBRESOURCE_EVICTION,
     SCOPE_ALL},
    /* and what every user may */
    {PRINCIPAL_OPERATOR, READ | WRITE, MAPS, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, WRITE, &lease_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, V(VERB_CREATE), &event_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR,
     V(VERB_CREATE),
     &events_event_kind,
     PLAIN,
     SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, UPDATE, &event_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, UPDATE, &events_event_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, READ, ANY_KIND, PLAIN, SCOPE_ALL},
    {PRINCIPAL_OPERATOR, READ, ANY_KIND, STATUS_OF, SCOPE_ALL},
    {PRINCIPAL_OPERATOR, V(VERB_CREATE), &job_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, V(VERB_CREATE), &pod_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, V(VERB_CREATE), CLAIM, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_OPERATOR, UPDATE | REMOVE, CLAIM, PLAIN, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, READ, &job_kind, SUBRESOURCE_SCRIPT, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, READ, &job_kind, SUBRESOURCE_ENVIRONMENT, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, READ, &pod_kind, SUBRESOURCE_LOG, SCOPE_OWN},
    {PRINCIPAL_OPERATOR, READ, &job_kind, SUBRESOURCE_WHY, SCOPE_ALL},
    {PRINCIPAL_OPERATOR, READ, &pod_kind, SUBRESOURCE_WHY, SCOPE_ALL},

    /* their own jobs and pods, in namespaces they belong to; of others the
     * fields that redaction leaves
     */
    {PRINCIPAL_USER, READ | WRITE, MAPS, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, WRITE, &lease_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, V(VERB_CREATE), &event_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, V(VERB_CREATE), &events_event_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, UPDATE, &event_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_USER, UPDATE, &events_event_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_USER, READ, ANY_KIND, PLAIN, SCOPE_ALL},
    {PRINCIPAL_USER, READ, ANY_KIND, STATUS_OF, SCOPE_ALL},
    {PRINCIPAL_USER, V(VERB_CREATE), &job_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, V(VERB_CREATE), &pod_kind, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, V(VERB_CREATE), CLAIM, PLAIN, SCOPE_MEMBERS},
    {PRINCIPAL_USER, UPDATE | REMOVE, CLAIM, PLAIN, SCOPE_OWN},
    {PRINCIPAL_USER, UPDATE | REMOVE, &job_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_USER, UPDATE | REMOVE, &pod_kind, PLAIN, SCOPE_OWN},
    {PRINCIPAL_USER, READ, &job_kind, SUBRESOURCE_SCRIPT, SCOPE_OWN},
    {PRINCIPAL_USER, READ, &job_kind, SUBRESOURCE_ENVIRONMENT, SCOPE_OWN},
    {PRINCIPAL_USER, READ, &pod_kind, SUBRESOURCE_LOG, SCOPE_OWN},
    {PRINCIPAL_USER, READ, &job_kind, SUBRESOURCE_WHY, SCOPE_OWN},
    {PRINCIPAL_USER, READ, &pod_kind, SUBRESOURCE_WHY, SCOPE_OWN},
    {PRINCIPAL_USER,
     V(VERB_CREATE),
     &pod_kind,
     SUBRESOURCE_EVICTION,
     SCOPE_OWN},
    /* a rootless agent, where the site allows it (admission) */
    {PRINCIPAL_USER, V(VERB_CREATE), &node_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_USER, V(VERB_CREATE), &node_kind, SUBRESOURCE_ENROL, SCOPE_ALL},
    {PRINCIPAL_USER, V(VERB_CREATE), &node_kind, SUBRESOURCE_MARK, SCOPE_ALL},

    /* its own node, lease, and pods bound to it, nothing else */
    {PRINCIPAL_AGENT, READ, &node_kind, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ | UPDATE, &node_kind, STATUS_OF, SCOPE_NODE},
    {PRINCIPAL_AGENT,
     READ | WRITE,
     &node_kind,
     SUBRESOURCE_REQUESTS,
     SCOPE_NODE},
    {PRINCIPAL_AGENT,
     V(VERB_CREATE),
     &node_kind,
     SUBRESOURCE_USAGE,
     SCOPE_NODE},
    {PRINCIPAL_AGENT, V(VERB_CREATE), &node_kind, SUBRESOURCE_MARK, SCOPE_NODE},
    {PRINCIPAL_AGENT, V(VERB_CREATE), &node_kind, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ | WRITE, &lease_kind, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ, &pod_kind, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, V(VERB_DELETE), &pod_kind, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ | UPDATE, &pod_kind, STATUS_OF, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ, &job_kind, SUBRESOURCE_SCRIPT, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ, &job_kind, SUBRESOURCE_ENVIRONMENT, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ, VOLUME, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, READ | UPDATE, VOLUME, STATUS_OF, SCOPE_NODE},
    {PRINCIPAL_AGENT, V(VERB_GET), CLAIM, PLAIN, SCOPE_NODE},
    {PRINCIPAL_AGENT, V(VERB_CREATE) | UPDATE, &event_kind, PLAIN, SCOPE_ALL},

    /* root of some machine, before its node has a secret */
    {PRINCIPAL_ENROLLING, V(VERB_GET), &node_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_ENROLLING, V(VERB_CREATE), &node_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_ENROLLING,
     V(VERB_CREATE),
     &node_kind,
     SUBRESOURCE_ENROL,
     SCOPE_ALL},
    {PRINCIPAL_ENROLLING,
     V(VERB_CREATE),
     &node_kind,
     SUBRESOURCE_MARK,
     SCOPE_ALL},

    {PRINCIPAL_SCHEDULER, READ, ANY_KIND, ANY_PART, SCOPE_ALL},
    {PRINCIPAL_SCHEDULER,
     V(VERB_CREATE),
     &pod_kind,
     SUBRESOURCE_BINDING,
     SCOPE_ALL},
    {PRINCIPAL_SCHEDULER, UPDATE, &pod_kind, STATUS_OF, SCOPE_ALL},
    {PRINCIPAL_SCHEDULER, V(VERB_DELETE), &pod_kind, PLAIN, SCOPE_ALL},
    {PRINCIPAL_SCHEDULER,
     V(VERB_CREATE),
     &pod_kind,
     SUBRESOURCE_EVICTION,
     SCOPE_ALL},
    {PRINCIPAL_SCHEDULER, UPDATE, VOLUME, PLAIN, SCOPE_ALL},
    {PRINCIPAL_SCHEDULER, UPDATE, CLAIM, PLAIN, SCOPE_ALL},
    {PRINCIPAL_SCHEDULER,
     V(VERB_CREATE) | UPDATE,
     &event_kind,
     PLAIN,
     SCOPE_ALL},
    {PRINCIPAL_SCHEDULER,
     V(VERB_CREATE) | UPDATE,
     &lease_kind,
     PLAIN,
     SCOPE_ALL},

    /* everything but placing */
    {PRINCIPAL_LIFECYCLE,
     V(VERB_CREATE),
     &pod_kind,
     SUBRESOURCE_BINDING,
     SCOPE_NONE},
    {PRINCIPAL_LIFECYCLE, READ | WRITE, ANY_KIND, ANY_PART, SCOPE_ALL},
};

/* Fields that an operator may change of another user's job or pod. */
static const char *const operator_fields[] = {
    "metadata.annotations",
    "metadata.labels",
    "metadata.resourceVersion",
    "metadata.generation",
    "spec.priority",
    "spec.priorityClassName",
    "spec.suspend",
    "spec.template.spec.priority",
    "spec.template.spec.priorityClassName",
};

enum scope
authorization_scope(enum principal_type principal,
                    enum verb verb,
                    const struct kind *kind,
                    enum subresource subresource)
{
    /* Everybody may ask who they are and what they may do. */
    if (kind->flags & KIND_ANSWERED)
        return verb == VERB_CREATE ? SCOPE_ALL : SCOPE_NONE;
    for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
        const struct rule *rule = &rules[i];

        if (rule->principal == principal && rule->verbs & V(verb)
            && (rule->kind == ANY_KIND || rule->kind == kind)
            && (rule->subresource == ANY_PART
                || rule->subresource == subresource))
            return rule->scope;
    }
    return SCOPE_NONE;
}

static bool
refuse(struct request *q, const char *why)
{
    char who[320];
    const struct route *route = &q->route;
    const char *part = subresource_name(route->subresource);

    reply_forbidden(&q->reply,
                    route->kind,
                    route->name,
                    "%s cannot %s %s%s%s%s",
                    principal_describe(q->principal, who),
                    verb_name(route->verb),
                    route->kind->plural,
                    part[0] != '\0' ? "/" : "",
                    part,
                    why);
    return false;
}

/* Whether what is named lies within the agent's node, as far as that can be
 * told before the object is at hand.
 */
static bool
names_own_node(const struct request *q)
{
    const struct route *route = &q->route;
    const char *node = q->principal->node;
    const char *wanted;

    if (route->kind == &node_kind || route->kind == &lease_kind) {
        if (route->kind == &lease_kind
            && (route->namespace == NULL
                || strcmp(route->namespace, NODE_LEASE_NAMESPACE) != 0))
            return false;
        wanted = route->name;
        if (wanted == NULL && q->options.fields != NULL)
            wanted = field_query_demands(q->options.fields, "metadata.name");
        if (wanted == NULL && route->verb == VERB_CREATE)
            return true; /* the body's name is checked by admission */
        return wanted != NULL && strcmp(wanted, node) == 0;
    }
    if ((route->kind == &pod_kind || route->kind == VOLUME)
        && route->name == NULL) {
        wanted = q->options.fields != NULL
                     ? field_query_demands(q->options.fields, "spec.nodeName")
                     : NULL;
        return wanted != NULL && strcmp(wanted, node) == 0;
    }
    return true;
}

bool
authorization_check(struct request *q)
{
    const struct route *route = &q->route;

    q->scope = authorization_scope(q->principal->type,
                                   route->verb,
                                   route->kind,
                                   route->subresource);
    switch (q->scope) {
    case SCOPE_NONE:
        return refuse(q, "");
    case SCOPE_MEMBERS:
        if (route->namespace == NULL)
            return refuse(q,
                          " of all namespaces at once; name one to which they "
                          "belong");
        if (store_find(q->server->store,
                       STORE_PENDING,
                       &namespace_kind,
                       NULL,
                       route->namespace)
            == NULL)
            return true; /* a 404 from admission tells more */
        if (!membership_has(q->server->membership,
                            route->namespace,
                            q->principal))
            return refuse(q,
                          ": they do not belong to the namespace; an "
                          "administrator can add them to its annotation "
                          "'kiln.hpc/members'");
        return true;
    case SCOPE_NODE:
        if (!names_own_node(q))
            return refuse(q, " but those of its own node");
        return true;
    default:
        return true;
    }
}

static bool
is_owner(const struct principal *principal, const struct object *object)
{
    uid_t uid;

    return principal_is_person(principal) && object_owner(object, &uid)
           && uid == principal->uid;
}

struct search {
    const struct object *job;
    const char *node;
    bool found;
};

static bool
visit_job_pod(const struct object *pod, void *context)
{
    struct search *search = context;
    const char *node = pod_of(pod)->spec.node_name;

    search->found = node != NULL && strcmp(node, search->node) == 0
                    && meta_is_controlled_by(pod->meta, search->job)
                    && object_owner_is_same(pod, search->job);
    return !search->found;
}

struct user_search {
    const char *namespace;
    const char *claim;
    bool found;
};

static bool
visit_user(const struct object *object, void *context)
{
    const struct pod *pod = pod_of(object);
    struct user_search *search = context;
    char buffer[POD_CLAIM_NAME_SIZE];

    if (strcmp(pod->meta.namespace, search->namespace) != 0)
        return true;
    for (unsigned i = 0; i < pod->spec.volumes.count && !search->found; i++) {
        const char *name =
            pod_volume_claim(pod, &pod->spec.volumes.items[i], buffer);

        search->found = name != NULL && strcmp(name, search->claim) == 0;
    }
    return !search->found;
}

/* Whether a pod that is bound there uses the claim. */
static bool
is_used_on_node(const struct request *q,
                const char *namespace,
                const char *claim)
{
    struct user_search search = {.namespace = namespace, .claim = claim};

    store_visit_index(q->server->store,
                      &pod_kind,
                      POD_BY_NODE,
                      STORE_PUBLISHED,
                      q->principal->node,
                      visit_user,
                      &search);
    return search.found;
}

/* An agent may write the volumes it made and read those its pods use. */
static bool
is_volume_on_node(const struct request *q, const struct object *object)
{
    const struct persistent_volume *v = persistent_volume_of(object);
    const char *node = persistent_volume_scratch_node(v);
    const struct object_reference *claim = v->spec.claim;

    if (node != NULL && strcmp(node, q->principal->node) == 0)
        return true;
    return q->route.subresource == SUBRESOURCE_NONE && claim != NULL
           && claim->namespace != NULL && claim->name != NULL
           && is_used_on_node(q, claim->namespace, claim->name);
}

static bool
is_on_node(const struct request *q, const struct object *object)
{
    const char *node = q->principal->node;

    if (object->kind == VOLUME)
        return is_volume_on_node(q, object);
    if (object->kind == CLAIM)
        return is_used_on_node(q, object->meta->namespace, object->meta->name);

    if (object->kind == &pod_kind) {
        const char *bound = pod_of(object)->spec.node_name;

        return bound != NULL && strcmp(bound, node) == 0;
    }
    if (object->kind == &job_kind) {
        struct search search = {.job = object, .node = node};

        store_visit_index(q->server->store,
                          &pod_kind,
                          POD_BY_JOB,
                          STORE_PUBLISHED,
                          object->meta->uid,
                          visit_job_pod,
                          &search);
        return search.found;
    }
    return strcmp(object->meta->name, node) == 0;
}

bool
authorization_covers(struct request *q, const struct object *object)
{
    switch (q->scope) {
    case SCOPE_ALL:
    case SCOPE_MEMBERS:
        return true;
    case SCOPE_OWN:
        return is_owner(q->principal, object) || refuse(q, " of other users");
    case SCOPE_NODE:
        return is_on_node(q, object) || refuse(q, " of other nodes");
    default:
        return refuse(q, "");
    }
}

static void
remove_path(struct json *tree, const char *path)
{
    const char *dot = strrchr(path, '.');
    char parent[64];
    struct json *object = tree;

    if (dot != NULL) {
        memcpy(parent, path, (size_t)(dot - path));
        parent[dot - path] = '\0';
        object = json_get_path(tree, parent);
    }
    if (json_is(object, JSON_OBJECT))
        json_remove(object, dot != NULL ? dot + 1 : path);
}

bool
authorization_check_change(struct request *q,
                           const struct object *old_object,
                           const struct json *tree)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct json *before, *after;

    if (q->principal->type != PRINCIPAL_OPERATOR
        || is_owner(q->principal, old_object)
        || (old_object->kind != &job_kind && old_object->kind != &pod_kind))
        return true;
    arena = arena_new(0);
    before = object_tree(old_object, arena);
    after = json_dup(arena, tree);
    for (unsigned i = 0; i < ARRAY_SIZE(operator_fields); i++) {
        remove_path(before, operator_fields[i]);
        remove_path(after, operator_fields[i]);
    }
    return json_equals(before, after)
           || refuse(q,
                     " of other users but to hold, release, cancel, label or "
                     "change their priority");
}

bool
authorization_reads_whole(const struct principal *principal,
                          const struct object *object)
{
    if (object->kind != &pod_kind && object->kind != &job_kind)
        return true;
    switch (principal->type) {
    case PRINCIPAL_ADMINISTRATOR:
    case PRINCIPAL_SCHEDULER:
    case PRINCIPAL_LIFECYCLE:
    case PRINCIPAL_AGENT: /* sees the pods of its node alone */
        return true;
    default:
        return is_owner(principal, object);
    }
}
