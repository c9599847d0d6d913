/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery/openapi_paths.h"

#include <string.h>

#include "controller/apiserver/discovery/api_resources.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/routes.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/openapi/json_schema.h"

/* How a document shows a verb. */
static const struct operation {
    enum verb verb;
    const char *method;
    const char *action;
    bool takes_object;
} operations[] = {
    {VERB_LIST, "get", "list", false},
    {VERB_CREATE, "post", "post", true},
    {VERB_DELETE_COLLECTION, "delete", "deletecollection", false},
    {VERB_GET, "get", "get", false},
    {VERB_REPLACE, "put", "put", true},
    {VERB_PATCH, "patch", "patch", false},
    {VERB_DELETE, "delete", "delete", false},
};

#define WRITES  (1u << VERB_CREATE | 1u << VERB_REPLACE | 1u << VERB_PATCH)
#define REMOVES (1u << VERB_DELETE | 1u << VERB_DELETE_COLLECTION)
#define LISTS   (1u << VERB_LIST | 1u << VERB_DELETE_COLLECTION)
#define ALL     (~0u)

static const struct query {
    const char *name;
    const char *type;
    unsigned verbs;
} queries[] = {
    {"allowWatchBookmarks", "boolean", 1u << VERB_LIST},
    {"continue", "string", LISTS},
    {"dryRun", "string", WRITES | REMOVES},
    {"fieldManager", "string", WRITES},
    {"fieldSelector", "string", LISTS},
    {"fieldValidation", "string", WRITES},
    {"force", "boolean", 1u << VERB_PATCH},
    {"gracePeriodSeconds", "integer", REMOVES},
    {"labelSelector", "string", LISTS},
    {"limit", "integer", LISTS},
    {"pretty", "string", ALL},
    {"propagationPolicy", "string", REMOVES},
    {"resourceVersion", "string", LISTS},
    {"resourceVersionMatch", "string", LISTS},
    {"sendInitialEvents", "boolean", LISTS},
    {"timeoutSeconds", "integer", LISTS},
    {"watch", "boolean", 1u << VERB_LIST},
};

static const char *const patch_types[] = {
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
};

static struct json *
parameter(struct arena *a, const char *name, const char *in, const char *type)
{
    struct json *entry = json_object(a);
    struct json *schema = json_object(a);

    json_set_string(a, entry, "name", name);
    json_set_string(a, entry, "in", in);
    if (strcmp(in, "path") == 0)
        json_set_bool(a, entry, "required", true);
    json_set_string(a, schema, "type", type);
    json_set(a, entry, "schema", schema);
    return entry;
}

static struct json *
query_parameters(struct arena *a, enum verb verb)
{
    struct json *list = json_array(a);

    for (unsigned i = 0; i < ARRAY_SIZE(queries); i++)
        if (queries[i].verbs & 1u << verb)
            json_append(a, list, parameter(a, queries[i].name, "query", queries[i].type));
    return list;
}

/* Makes {"content": {TYPE: {"schema": ...}}}. */
static struct json *
content(struct arena *a, const char *type, struct json *schema)
{
    struct json *body = json_object(a);
    struct json *media = json_object(a);

    if (schema != NULL)
        json_set(a, media, "schema", schema);
    json_set(a, json_make_object(a, body, "content"), type, media);
    return body;
}

static struct json *
patch_content(struct arena *a)
{
    struct json *body = json_object(a);
    struct json *types = json_make_object(a, body, "content");

    for (unsigned i = 0; i < ARRAY_SIZE(patch_types); i++)
        json_make_object(a, types, patch_types[i]);
    return body;
}

/* Whether the subresource has the kind's type. Others (a binding, an eviction,
 * a text) are listed without their schema.
 */
static bool
is_of_kind(const struct kind *kind, enum subresource part)
{
    return part == SUBRESOURCE_NONE
           || (part != SUBRESOURCE_LOG
               && strcmp(api_resources_part_kind(kind, part), kind->name) == 0);
}

static void
add_operation(struct arena *a, struct json *path, const struct kind *kind, enum subresource part,
              const struct operation *operation)
{
    struct json *entry = json_make_object(a, path, operation->method);
    struct json *response;
    struct json *schema = NULL;

    if (is_of_kind(kind, part))
        schema = operation->verb == VERB_LIST ? json_schema_reference_list(a, kind)
                                              : json_schema_reference(a, kind->record->name);
    json_set(a, entry, "x-kubernetes-group-version-kind",
             json_schema_group_version_kind(a, kind, api_resources_part_kind(kind, part)));
    json_set_string(a, entry, "x-kubernetes-action", operation->action);
    json_set(a, entry, "parameters", query_parameters(a, operation->verb));
    if (operation->verb == VERB_PATCH)
        json_set(a, entry, "requestBody", patch_content(a));
    else if (operation->takes_object)
        json_set(a, entry, "requestBody", content(a, "*/*", schema));
    response = content(a, "application/json", schema);
    json_set_string(a, response, "description", "OK");
    json_set(a, json_make_object(a, entry, "responses"),
             operation->verb == VERB_CREATE ? "201" : "200", response);
}

static void
add_path_parameters(struct arena *a, struct json *path, const char *name)
{
    struct json *list = json_array(a);

    if (strstr(name, "{namespace}") != NULL)
        json_append(a, list, parameter(a, "namespace", "path", "string"));
    if (strstr(name, "{name}") != NULL)
        json_append(a, list, parameter(a, "name", "path", "string"));
    if (list->count > 0)
        json_set(a, path, "parameters", list);
}

static bool
allows(const struct kind *kind, enum subresource part, enum verb verb)
{
    return part == SUBRESOURCE_NONE ? kind_allows(kind, verb)
                                    : subresource_allows(kind, part, verb);
}

/* Adds one path with those of `verbs`, a set, that the kind has. */
static void
add_path(struct arena *a, struct json *paths, const char *name, const struct kind *kind,
         enum subresource part, unsigned verbs)
{
    struct json *path = json_object(a);

    for (unsigned i = 0; i < ARRAY_SIZE(operations); i++)
        if (verbs & 1u << operations[i].verb && allows(kind, part, operations[i].verb))
            add_operation(a, path, kind, part, &operations[i]);
    if (path->count == 0)
        return;
    add_path_parameters(a, path, name);
    json_set(a, paths, name, path);
}

void
openapi_add_paths(struct arena *arena, struct json *paths, const struct kind *kind,
                  const struct api_profile *profile)
{
    const char *root =
        arena_printf(arena, "/%s/%s", kind->group[0] != '\0' ? "apis" : "api", kind->api_version);
    const char *collection =
        arena_printf(arena, "%s/%s%s", root,
                     kind->flags & KIND_NAMESPACED ? "namespaces/{namespace}/" : "", kind->plural);
    enum subresource parts[N_SUBRESOURCES];
    unsigned n_parts = api_resources_parts(kind, profile, parts);

    if (kind->flags & KIND_NAMESPACED)
        add_path(arena, paths, arena_printf(arena, "%s/%s", root, kind->plural), kind,
                 SUBRESOURCE_NONE, 1u << VERB_LIST);
    add_path(arena, paths, collection, kind, SUBRESOURCE_NONE, 1u << VERB_CREATE | LISTS);
    add_path(arena, paths, arena_printf(arena, "%s/{name}", collection), kind, SUBRESOURCE_NONE,
             1u << VERB_GET | 1u << VERB_REPLACE | 1u << VERB_PATCH | 1u << VERB_DELETE);
    for (unsigned i = 0; i < n_parts; i++)
        add_path(arena, paths,
                 arena_printf(arena, "%s/{name}/%s", collection, subresource_name(parts[i])), kind,
                 parts[i], ~LISTS);
}
