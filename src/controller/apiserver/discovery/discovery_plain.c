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

enum { VERSION_HASH_BYTES = 8 };

void
discovery_api_versions(struct request *q)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *versions = json_array(a);
    struct json *addresses = json_array(a);
    struct json *address = json_object(a);

    json_set_string(a, tree, "kind", "APIVersions");
    json_append(a, versions, json_string(a, "v1"));
    json_set(a, tree, "versions", versions);
    json_set_string(a, address, "clientCIDR", "0.0.0.0/0");
    json_set_string(a, address, "serverAddress", "");
    json_append(a, addresses, address);
    json_set(a, tree, "serverAddressByClientCIDRs", addresses);
    reply_tree(&q->reply, 200, tree);
}

static struct json *
version_entry(struct arena *a, const struct kind *kind)
{
    struct json *entry = json_object(a);

    json_set_string(a, entry, "groupVersion", kind->api_version);
    json_set_string(a, entry, "version", kind->version);
    return entry;
}

static void
add_group(struct arena *a, struct json *group, const struct kind *const *of_versions, unsigned n)
{
    struct json *versions = json_array(a);

    json_set_string(a, group, "name", of_versions[0]->group);
    for (unsigned i = 0; i < n; i++)
        json_append(a, versions, version_entry(a, of_versions[i]));
    json_set(a, group, "versions", versions);
    json_set(a, group, "preferredVersion", version_entry(a, of_versions[0]));
}

void
discovery_groups(struct request *q)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *groups = json_array(a);

    json_set_string(a, tree, "kind", "APIGroupList");
    json_set_string(a, tree, "apiVersion", "v1");
    for (const char *const *name = api_resources_groups + 1; *name != NULL; name++) {
        struct json *group = json_object(a);

        unsigned n = api_resources_versions(*name, q->server->profile, list);

        if (n == 0)
            continue;
        add_group(a, group, list, n);
        json_append(a, groups, group);
    }
    json_set(a, tree, "groups", groups);
    reply_tree(&q->reply, 200, tree);
}

bool
discovery_group(struct request *q, const char *name)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    unsigned n = api_resources_versions(name, q->server->profile, list);

    if (name[0] == '\0' || n == 0)
        return false;
    json_set_string(a, tree, "kind", "APIGroup");
    json_set_string(a, tree, "apiVersion", "v1");
    add_group(a, tree, list, n);
    reply_tree(&q->reply, 200, tree);
    return true;
}

static struct json *
text_list(struct arena *a, const char *const *texts)
{
    struct json *list = json_array(a);

    for (; texts != NULL && *texts != NULL; texts++)
        json_append(a, list, json_string(a, *texts));
    return list;
}

/* Storage migration compares this hash; upstream's is also a digest of the
 * stored kind.
 */
static struct json *
version_hash(struct arena *a, const struct kind *kind)
{
    const struct kind *stored = kind_stored(kind);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf base64 = STRBUF_INIT;
    struct digest digest;

    strbuf_printf(&text, "%s/%s/%s", stored->group, stored->version, stored->name);
    digest_of(text.text, text.length, &digest);
    base64_encode(&base64, digest.bytes, VERSION_HASH_BYTES);
    return json_string(a, base64.text);
}

static void
add_whole(struct arena *a, struct json *entry, const struct kind *kind)
{
    struct json *verbs = json_array(a);

    json_set_string(a, entry, "name", kind->plural);
    json_set_string(a, entry, "singularName", kind->singular);
    json_set_bool(a, entry, "namespaced", kind->flags & KIND_NAMESPACED);
    json_set_string(a, entry, "kind", kind->name);
    for (unsigned i = 0; i < N_VERBS; i++)
        if (kind_allows(kind, api_resources_verb_order[i]))
            json_append(a, verbs, json_string(a, verb_name(api_resources_verb_order[i])));
    json_set(a, entry, "verbs", verbs);
    if (kind->short_names != NULL)
        json_set(a, entry, "shortNames", text_list(a, kind->short_names));
    if (kind->categories != NULL)
        json_set(a, entry, "categories", text_list(a, kind->categories));
    if (!(kind->flags & (KIND_ANSWERED | KIND_MEASURED)))
        json_set(a, entry, "storageVersionHash", version_hash(a, kind));
}

static void
add_part(struct arena *a, struct json *entry, const struct kind *kind, enum subresource part)
{
    struct json *verbs = json_array(a);

    json_set(a, entry, "name", json_stringf(a, "%s/%s", kind->plural, subresource_name(part)));
    json_set_string(a, entry, "singularName", "");
    json_set_bool(a, entry, "namespaced", kind->flags & KIND_NAMESPACED);
    if (part == SUBRESOURCE_EVICTION) {
        json_set_string(a, entry, "group", "policy");
        json_set_string(a, entry, "version", "v1");
    }
    json_set_string(a, entry, "kind", api_resources_part_kind(kind, part));
    for (unsigned i = 0; i < N_VERBS; i++)
        if (subresource_allows(kind, part, api_resources_verb_order[i]))
            json_append(a, verbs, json_string(a, verb_name(api_resources_verb_order[i])));
    json_set(a, entry, "verbs", verbs);
}

/* The entry for POST to namespaces/NS/bindings, the older path of a pod's
 * binding.
 */
static struct json *
bindings_entry(struct arena *a)
{
    struct json *entry = json_object(a);
    struct json *verbs = json_array(a);

    json_set_string(a, entry, "name", "bindings");
    json_set_string(a, entry, "singularName", "binding");
    json_set_bool(a, entry, "namespaced", true);
    json_set_string(a, entry, "kind", "Binding");
    json_append(a, verbs, json_string(a, verb_name(VERB_CREATE)));
    json_set(a, entry, "verbs", verbs);
    return entry;
}

bool
discovery_resources(struct request *q, const char *group, const char *version)
{
    const struct kind *list[API_RESOURCES_MAX_KINDS];
    enum subresource parts[N_SUBRESOURCES];
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *rows = json_array(a);
    unsigned n = api_resources_kinds(group, version, q->server->profile, list);

    if (n == 0)
        return false;
    json_set_string(a, tree, "kind", "APIResourceList");
    if (group[0] != '\0')
        json_set_string(a, tree, "apiVersion", "v1");
    json_set_string(a, tree, "groupVersion", list[0]->api_version);
    if (group[0] == '\0')
        json_append(a, rows, bindings_entry(a));
    for (unsigned i = 0; i < n; i++) {
        unsigned n_parts = api_resources_parts(list[i], q->server->profile, parts);
        struct json *entry = json_object(a);

        add_whole(a, entry, list[i]);
        json_append(a, rows, entry);
        for (unsigned k = 0; k < n_parts; k++) {
            entry = json_object(a);
            add_part(a, entry, list[i], parts[k]);
            json_append(a, rows, entry);
        }
    }
    json_set(a, tree, "resources", rows);
    reply_tree(&q->reply, 200, tree);
    return true;
}
