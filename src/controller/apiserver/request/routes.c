/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/routes.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"

#define MAX_SEGMENTS 12

static const char *const verb_names[N_VERBS] = {
    [VERB_GET] = "get",        [VERB_LIST] = "list",
    [VERB_WATCH] = "watch",    [VERB_CREATE] = "create",
    [VERB_REPLACE] = "update", [VERB_PATCH] = "patch",
    [VERB_DELETE] = "delete",  [VERB_DELETE_COLLECTION] = "deletecollection",
};

static const char *const subresource_names[N_SUBRESOURCES] = {
    [SUBRESOURCE_NONE] = "",
    [SUBRESOURCE_STATUS] = "status",
    [SUBRESOURCE_APPROVE] = "approve",
    [SUBRESOURCE_BINDING] = "binding",
    [SUBRESOURCE_ELEMENTS] = "elements",
    [SUBRESOURCE_END] = "end",
    [SUBRESOURCE_ENROL] = "enrol",
    [SUBRESOURCE_ENVIRONMENT] = "environment",
    [SUBRESOURCE_EVICTION] = "eviction",
    [SUBRESOURCE_EXEC] = "exec",
    [SUBRESOURCE_EXEC_GRANT] = "exec-grant",
    [SUBRESOURCE_FINALIZE] = "finalize",
    [SUBRESOURCE_GANG] = "gang",
    [SUBRESOURCE_LOG] = "log",
    [SUBRESOURCE_MARK] = "mark",
    [SUBRESOURCE_REQUESTS] = "requests",
    [SUBRESOURCE_RESET] = "reset",
    [SUBRESOURCE_SCRIPT] = "script",
    [SUBRESOURCE_START] = "start",
    [SUBRESOURCE_STEPS] = "steps",
    [SUBRESOURCE_USAGE] = "usage",
    [SUBRESOURCE_WHY] = "why",
};

const char *
verb_name(enum verb verb)
{
    return verb_names[verb];
}

const char *
subresource_name(enum subresource subresource)
{
    return subresource_names[subresource];
}

enum subresource
subresource_parse(const char *name)
{
    for (unsigned i = SUBRESOURCE_STATUS; i < N_SUBRESOURCES; i++)
        if (strcmp(name, subresource_names[i]) == 0)
            return i;
    return N_SUBRESOURCES;
}

bool
kind_allows(const struct kind *kind, enum verb verb)
{
    if (kind->flags & KIND_ANSWERED)
        return verb == VERB_CREATE;
    if (kind->flags & KIND_MEASURED)
        return verb == VERB_GET || verb == VERB_LIST;
    return !(kind->flags & KIND_DELETED_SINGLY) || verb != VERB_DELETE_COLLECTION;
}

static unsigned
subresource_verbs(const struct kind *kind, enum subresource subresource)
{
    if (subresource == SUBRESOURCE_STATUS)
        return kind->flags & KIND_HAS_STATUS ? MAY_GET | MAY_UPDATE : 0;
    for (unsigned i = 0; i < kind->n_subresources; i++)
        if (kind->subresources[i].subresource == subresource)
            return kind->subresources[i].verbs;
    return 0;
}

bool
subresource_allows(const struct kind *kind, enum subresource subresource, enum verb verb)
{
    return subresource_verbs(kind, subresource) & VERB_BIT(verb);
}

bool
subresource_is_kiln(const struct kind *kind, enum subresource subresource)
{
    return subresource_verbs(kind, subresource) & KILN_ONLY;
}

/* Splits in place. A path with an empty segment inside ("//") names no
 * resource; one trailing slash is ignored.
 */
static int
split(char *path, char *segments[MAX_SEGMENTS])
{
    int n = 0;

    while (*path == '/') {
        *path++ = '\0';
        if (*path == '\0')
            break;
        if (*path == '/' || n == MAX_SEGMENTS)
            return -1;
        segments[n++] = path;
        path += strcspn(path, "/");
    }
    return n;
}

static bool
is_group(const char *group)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (strcmp(kinds[i]->group, group) == 0)
            return true;
    for (unsigned i = 0; i < n_answered_kinds; i++)
        if (strcmp(answered_kinds[i]->group, group) == 0)
            return true;
    for (unsigned i = 0; i < n_measured_kinds; i++)
        if (strcmp(measured_kinds[i]->group, group) == 0)
            return true;
    return false;
}

static enum route_result
object_verb(struct route *r, enum http_method method)
{
    switch (method) {
    case HTTP_GET:
    case HTTP_HEAD:
        r->verb = VERB_GET;
        return ROUTE_FOUND;
    case HTTP_PUT:
        r->verb = VERB_REPLACE;
        return ROUTE_FOUND;
    case HTTP_PATCH:
        r->verb = VERB_PATCH;
        return ROUTE_FOUND;
    case HTTP_DELETE:
        r->verb = VERB_DELETE;
        return ROUTE_FOUND;
    default:
        return ROUTE_NO_METHOD;
    }
}

static enum route_result
collection_verb(struct route *r, enum http_method method, bool wants_watch)
{
    bool spans = r->kind->flags & KIND_NAMESPACED && r->namespace == NULL;

    switch (method) {
    case HTTP_GET:
    case HTTP_HEAD:
        spans = false;
        r->verb = wants_watch ? VERB_WATCH : VERB_LIST;
        break;
    case HTTP_POST:
        r->verb = VERB_CREATE;
        break;
    case HTTP_DELETE:
        r->verb = VERB_DELETE_COLLECTION;
        break;
    default:
        return ROUTE_NO_METHOD;
    }
    return spans || !kind_allows(r->kind, r->verb) ? ROUTE_NO_METHOD : ROUTE_FOUND;
}

static enum route_result
subresource_verb(struct route *r, enum http_method method)
{
    unsigned verbs = subresource_verbs(r->kind, r->subresource);

    if (verbs == 0)
        return ROUTE_NO_RESOURCE;
    if (method == HTTP_POST)
        r->verb = VERB_CREATE;
    else if (object_verb(r, method) != ROUTE_FOUND)
        return ROUTE_NO_METHOD;
    return verbs & VERB_BIT(r->verb) ? ROUTE_FOUND : ROUTE_NO_METHOD;
}

/* Parses the part of the path after "/api/v1/" or "/apis/GROUP/VERSION/". */
static enum route_result
find_resource(struct route *r, const char *group, const char *version, char **segments, int n,
              enum http_method method, bool wants_watch)
{
    bool old_watch = n > 1 && strcmp(segments[0], "watch") == 0;

    if (old_watch) {
        segments++;
        n--;
    }
    /* namespaces/NS/status is a subresource of the namespace itself. */
    if (n >= 3 && strcmp(segments[0], "namespaces") == 0
        && !(group[0] == '\0' && n == 3
             && subresource_verbs(&namespace_kind, subresource_parse(segments[2])))) {
        r->namespace = segments[1];
        segments += 2;
        n -= 2;
    }
    if (n == 1 && r->namespace != NULL && strcmp(segments[0], "bindings") == 0
        && group[0] == '\0') {
        r->kind = &pod_kind;
        r->subresource = SUBRESOURCE_BINDING;
        r->verb = VERB_CREATE;
        return method == HTTP_POST ? ROUTE_FOUND : ROUTE_NO_METHOD;
    }
    r->kind = n > 0 ? kind_find(group, version, segments[0]) : NULL;
    if (r->kind == NULL || n > 4 || (r->namespace != NULL && !(r->kind->flags & KIND_NAMESPACED)))
        return ROUTE_NO_RESOURCE;
    if (n == 1)
        return collection_verb(r, method, wants_watch || old_watch);
    if (r->kind->flags & KIND_NAMESPACED && r->namespace == NULL)
        return ROUTE_NO_RESOURCE;
    r->name = segments[1];
    if (old_watch && n == 2) {
        r->verb = VERB_WATCH;
        r->is_single_watch = true;
        return method == HTTP_GET ? ROUTE_FOUND : ROUTE_NO_METHOD;
    }
    if (r->kind->flags & KIND_ANSWERED)
        return ROUTE_NO_RESOURCE;
    if (n == 2)
        return object_verb(r, method);
    r->subresource = subresource_parse(segments[2]);
    r->extra = n == 4 ? segments[3] : NULL;
    if (r->subresource == N_SUBRESOURCES
        || (r->extra != NULL && r->subresource != SUBRESOURCE_REQUESTS))
        return ROUTE_NO_RESOURCE;
    return subresource_verb(r, method);
}

enum route_result
route_find(struct arena *arena, enum http_method method, const char *path, bool wants_watch,
           struct route *ret_route)
{
    struct route r = {0};
    char *segments[MAX_SEGMENTS];
    int n = split(arena_strdup(arena, path), segments);
    enum route_result result;

    if (n < 0)
        return strncmp(path, "/api", 4) == 0 ? ROUTE_NO_RESOURCE : ROUTE_NO_PATH;
    if (n >= 3 && strcmp(segments[0], "api") == 0)
        result = find_resource(&r, "", segments[1], segments + 2, n - 2, method, wants_watch);
    else if (n >= 4 && strcmp(segments[0], "apis") == 0 && is_group(segments[1]))
        result =
            find_resource(&r, segments[1], segments[2], segments + 3, n - 3, method, wants_watch);
    else
        return ROUTE_NO_PATH;
    if (result == ROUTE_FOUND)
        *ret_route = r;
    return result;
}
