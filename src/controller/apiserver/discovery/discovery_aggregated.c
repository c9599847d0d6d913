/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "controller/apiserver/discovery/api_resources.h"
#include "controller/apiserver/discovery/discovery_documents.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/object/kind.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DISCOVERY "application/json;g=apidiscovery.k8s.io;v=%s;as=" LIST_KIND
#define LIST_KIND "APIGroupDiscoveryList"

static struct json *
response_kind(struct arena *a, const char *group, const char *version, const char *name)
{
    struct json *kind = json_object(a);

    json_set_string(a, kind, "group", group);
    json_set_string(a, kind, "version", version);
    json_set_string(a, kind, "kind", name);
    return kind;
}

static struct json *
part_entry(struct arena *a, const struct kind *kind, enum subresource part)
{
    struct json *entry = json_object(a);
    struct json *verbs = json_array(a);
    bool evicts = part == SUBRESOURCE_EVICTION;

    json_set_string(a, entry, "subresource", subresource_name(part));
    json_set(a, entry, "responseKind",
             response_kind(a, evicts ? "policy" : "", evicts ? "v1" : "",
                           api_resources_part_kind(kind, part)));
    for (unsigned i = 0; i < N_VERBS; i++)
        if (subresource_allows(kind, part, api_resources_verb_order[i]))
            json_append(a, verbs, json_string(a, verb_name(api_resources_verb_order[i])));
    json_set(a, entry, "verbs", verbs);
    return entry;
}

static struct json *
new_entry(struct arena *a, const char *plural, const char *kind_name, bool is_namespaced,
          const char *singular)
{
    struct json *entry = json_object(a);

    json_set_string(a, entry, "resource", plural);
    json_set(a, entry, "responseKind", response_kind(a, "", "", kind_name));
    json_set_string(a, entry, "scope", is_namespaced ? "Namespaced" : "Cluster");
    json_set_string(a, entry, "singularResource", singular);
    json_set(a, entry, "verbs", json_array(a));
    return entry;
}

static void
add_texts(struct arena *a, struct json *entry, const char *name, const char *const *texts)
{
    struct json *list = json_array(a);

    if (texts == NULL)
        return;
    for (; *texts != NULL; texts++)
        json_append(a, list, json_string(a, *texts));
    json_set(a, entry, name, list);
}

static struct json *
resource_entry(struct request *q, const struct kind *kind)
{
    struct arena *a = q->arena;
    enum subresource parts[N_SUBRESOURCES];
    unsigned n_parts = api_resources_parts(kind, q->server->profile, parts);
    struct json *entry =
        new_entry(a, kind->plural, kind->name, kind->flags & KIND_NAMESPACED, kind->singular);
    struct json *list = json_array(a);

    for (unsigned i = 0; i < N_VERBS; i++)
        if (kind_allows(kind, api_resources_verb_order[i]))
            json_append(a, json_get(entry, "verbs"),
                        json_string(a, verb_name(api_resources_verb_order[i])));
    add_texts(a, entry, "shortNames", kind->short_names);
    add_texts(a, entry, "categories", kind->categories);
    for (unsigned i = 0; i < n_parts; i++)
        json_append(a, list, part_entry(a, kind, parts[i]));
    if (n_parts > 0)
        json_set(a, entry, "subresources", list);
    return entry;
}

static struct json *
version_entry(struct request *q, const struct kind *of_version)
{
    const struct kind *list[API_RESOURCES_MAX_KINDS];
    unsigned n =
        api_resources_kinds(of_version->group, of_version->version, q->server->profile, list);
    struct arena *a = q->arena;
    struct json *version = json_object(a);
    struct json *rows = json_array(a);

    json_set_string(a, version, "version", of_version->version);
    if (of_version->group[0] == '\0') {
        struct json *bindings = new_entry(a, "bindings", "Binding", true, "binding");

        json_append(a, json_get(bindings, "verbs"), json_string(a, verb_name(VERB_CREATE)));
        json_append(a, rows, bindings);
    }
    for (unsigned i = 0; i < n; i++)
        json_append(a, rows, resource_entry(q, list[i]));
    json_set(a, version, "resources", rows);
    json_set_string(a, version, "freshness", "Current");
    return version;
}

static struct json *
group_entry(struct request *q, const char *group, const struct kind *const *of_versions, unsigned n)
{
    struct arena *a = q->arena;
    struct json *entry = json_object(a);
    struct json *versions = json_array(a);

    json_make_object(a, entry, "metadata");
    if (group[0] != '\0')
        json_set_string(a, json_get(entry, "metadata"), "name", group);
    for (unsigned i = 0; i < n; i++)
        json_append(a, versions, version_entry(q, of_versions[i]));
    json_set(a, entry, "versions", versions);
    return entry;
}

static struct json *
make(struct request *q, bool is_core, const char *version)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *items = json_array(a);
    const char *const *group = api_resources_groups + (is_core ? 0 : 1);

    json_set_string(a, tree, "kind", LIST_KIND);
    json_set(a, tree, "apiVersion", json_stringf(a, "apidiscovery.k8s.io/%s", version));
    json_make_object(a, tree, "metadata");
    for (; *group != NULL; group++) {
        unsigned n = api_resources_versions(*group, q->server->profile, list);

        if (n > 0)
            json_append(a, items, group_entry(q, *group, list, n));
        if (is_core)
            break;
    }
    json_set(a, tree, "items", items);
    return tree;
}

void
discovery_aggregated(struct request *q, bool is_core, bool is_v2beta1, const char *if_none_match)
{
    const char *version = is_v2beta1 ? "v2beta1" : "v2";
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    struct digest digest;
    const char *etag;

    json_print(make(q, is_core, version), &text);
    digest_of(text.text, text.length, &digest);
    digest_format(&digest, hex);
    etag = arena_printf(q->arena, "\"%s\"", hex);
    reply_add_header(&q->reply, "Vary", "Accept");
    reply_add_header(&q->reply, "ETag", etag);
    reply_add_header(&q->reply, "Cache-Control", "public");
    if (if_none_match != NULL && strcmp(if_none_match, etag) == 0)
        reply_nothing(&q->reply, 304);
    else
        reply_text(&q->reply, 200, arena_printf(q->arena, DISCOVERY, version),
                   arena_memdup(q->arena, text.text, text.length + 1), text.length);
}
