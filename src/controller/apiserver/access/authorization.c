/* SPDX-License-Identifier: Apache-2.0 */
/* Rights are a table for each kind, not code, so that "who may do what" can be read in one
 * place and no path can forget it. A scope such as "own objects" can only be decided once the
 * object is known; until then the request goes on with the scope, and every verb asks again
 * for the object that it has found. Nothing that the table does not give is allowed.
 */
#include "controller/apiserver/access/authorization.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/value/selector.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* For every kind, after the kind's own rights. */
static const struct {
    unsigned principals, verbs;
    bool is_of_all_parts; /* else of the object itself and its status */
} rights[] = {
    {PRINCIPAL_BIT(PRINCIPAL_ADMINISTRATOR), MAY_READ | MAY_WRITE, true},
    {BY_USERS, MAY_READ, false},
    {BY_SCHEDULER, MAY_READ, true},
    {BY_LIFECYCLE, MAY_READ | MAY_WRITE, true},
};

enum scope
authorization_scope(enum principal_type principal, enum verb verb, const struct kind *kind,
                    enum subresource subresource)
{
    /* Everybody may ask for their own identity and rights. */
    if (kind->flags & KIND_ANSWERED)
        return verb == VERB_CREATE ? SCOPE_ALL : SCOPE_NONE;
    for (unsigned i = 0; i < kind->n_rights; i++) {
        const struct right *right = &kind->rights[i];

        if (right->principals & PRINCIPAL_BIT(principal) && right->verbs & VERB_BIT(verb)
            && right->subresource == subresource)
            return right->scope;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(rights); i++)
        if (rights[i].principals & PRINCIPAL_BIT(principal) && rights[i].verbs & VERB_BIT(verb)
            && (rights[i].is_of_all_parts || subresource == SUBRESOURCE_NONE
                || subresource == SUBRESOURCE_STATUS))
            return SCOPE_ALL;
    return SCOPE_NONE;
}

static bool
refuse(struct request *q, const char *why)
{
    char who[320];
    const struct route *route = &q->route;
    const char *part = subresource_name(route->subresource);

    reply_forbidden(&q->reply, route->kind, route->name, "%s cannot %s %s%s%s%s",
                    principal_describe(q->principal, who), verb_name(route->verb),
                    route->kind->plural, part[0] != '\0' ? "/" : "", part, why);
    return false;
}

/* Whether the request is for the agent's own node, as far as this can be
 * decided before the object is found.
 */
static bool
names_own_node(const struct request *q)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);
    const struct route *route = &q->route;
    const char *node = q->principal->node;
    const char *wanted;

    if (hooks->names_node != NULL)
        return hooks->names_node(q, node);
    if (hooks->wants_node_selector && route->name == NULL) {
        wanted = q->options.fields != NULL ? field_query_demands(q->options.fields, "spec.nodeName")
                                           : NULL;
        return wanted != NULL && strcmp(wanted, node) == 0;
    }
    return true;
}

bool
authorization_check(struct request *q)
{
    const struct route *route = &q->route;

    q->scope =
        authorization_scope(q->principal->type, route->verb, route->kind, route->subresource);
    switch (q->scope) {
    case SCOPE_NONE:
        return refuse(q, "");
    case SCOPE_MEMBERS:
        if (route->namespace == NULL)
            return refuse(q, " in all namespaces at once; name a namespace to "
                             "which they belong");
        if (store_find(q->server->store, STORE_PENDING, &namespace_kind, NULL, route->namespace)
            == NULL)
            return true; /* admission makes the 404 */
        if (!membership_has(q->server->membership, route->namespace, q->principal))
            return refuse(q, ": they do not belong to the namespace; an "
                             "administrator can add them to its annotation "
                             "'kiln.hpc/members'");
        return true;
    case SCOPE_NODE:
        if (!names_own_node(q))
            return refuse(q, " of nodes other than its own");
        return true;
    default:
        return true;
    }
}

static bool
is_owner(const struct principal *principal, const struct object *object)
{
    uid_t uid;

    return principal_is_person(principal) && object_owner(object, &uid) && uid == principal->uid;
}

static bool
is_on_node(const struct request *q, const struct object *object)
{
    const struct kind_hooks *hooks = kind_hooks_find(object->kind);

    return hooks->is_on_node != NULL ? hooks->is_on_node(q, object)
                                     : strcmp(object->meta->name, q->principal->node) == 0;
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
authorization_check_change(struct request *q, const struct object *old_object,
                           const struct json *tree)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    const char *const *fields = old_object->kind->operator_fields;
    struct json *before, *after;

    if (q->principal->type != PRINCIPAL_OPERATOR || fields == NULL
        || is_owner(q->principal, old_object))
        return true;
    arena = arena_new(0);
    before = object_tree(old_object, arena);
    after = json_dup(arena, tree);
    for (unsigned i = 0; fields[i] != NULL; i++) {
        remove_path(before, fields[i]);
        remove_path(after, fields[i]);
    }
    return json_equals(before, after)
           || refuse(q, " of other users, except to hold, release, cancel, "
                        "label or change their priority");
}

bool
authorization_reads_whole(const struct principal *principal, const struct object *object)
{
    if (object->kind->redact == NULL)
        return true;
    switch (principal->type) {
    case PRINCIPAL_ADMINISTRATOR:
    case PRINCIPAL_SCHEDULER:
    case PRINCIPAL_LIFECYCLE:
    case PRINCIPAL_AGENT: /* sees only the pods of its node */
        return true;
    default:
        return is_owner(principal, object);
    }
}
