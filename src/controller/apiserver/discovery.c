/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery.h"

#include <string.h>
#include <sys/utsname.h>

#include "controller/apiserver/request.h"
#include "controller/apiserver/server.h"
#include "controller/store/store.h"
#include "lib/api/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The release of the API that Kiln speaks; kubectl looks at major and minor. */
#define API_MAJOR   "1"
#define API_MINOR   "32"
#define API_VERSION "v1.32.0"

#define TEXT "text/plain; charset=utf-8"

static const char *const public_paths[] = {
    "/healthz",
    "/livez",
    "/metrics",
    "/readyz",
    "/version",
    "/version/",
};

bool
discovery_is_public(const char *path)
{
    for (unsigned i = 0; i < ARRAY_SIZE(public_paths); i++)
        if (strcmp(path, public_paths[i]) == 0)
            return true;
    return false;
}

static void
reply_health(struct request *q, const char *path)
{
    bool is_ready = !q->server->is_closing;
    const char *text = "ok";

    if (strcmp(path, "/readyz") == 0 && !is_ready) {
        text = "[-]shutdown failed: the controller is stopping\n"
               "readyz check failed\n";
        reply_text(&q->reply, 500, TEXT, text, strlen(text));
        return;
    }
    if (q->is_verbose)
        text = arena_printf(q->arena,
                            "[+]ping ok\n[+]store ok\n[+]shutdown ok\n%s "
                            "check passed\n",
                            path + 1);
    reply_text(&q->reply, 200, TEXT, text, strlen(text));
}

static void
reply_version(struct request *q)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct utsname machine;

    uname(&machine);
    json_set_string(a, tree, "major", API_MAJOR);
    json_set_string(a, tree, "minor", API_MINOR);
    json_set_string(a,
                    tree,
                    "gitVersion",
                    API_VERSION "+kiln." PACKAGE_VERSION);
    json_set_string(a, tree, "gitCommit", "");
    json_set_string(a, tree, "gitTreeState", "clean");
    json_set_string(a, tree, "buildDate", "1970-01-01T00:00:00Z");
    json_set_string(a, tree, "goVersion", "none");
    json_set_string(a, tree, "compiler", "cc");
    json_set(a,
             tree,
             "platform",
             json_stringf(a,
                          "linux/%s",
                          strcmp(machine.machine, "x86_64") == 0
                              ? "amd64"
                              : machine.machine));
    reply_tree(&q->reply, 200, tree);
}

static void
reply_metrics(struct request *q)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (q->server->metrics != NULL)
        metric_format(q->server->metrics, &text);
    reply_text(&q->reply,
               200,
               METRIC_CONTENT_TYPE,
               arena_memdup(q->arena, text.text, text.length + 1),
               text.length);
}

static void
reply_api_versions(struct request *q)
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

static struct json *
group_entry(struct arena *a, const struct kind *kind)
{
    struct json *group = json_object(a);
    struct json *versions = json_array(a);

    json_set_string(a, group, "name", kind->group);
    json_append(a, versions, version_entry(a, kind));
    json_set(a, group, "versions", versions);
    json_set(a, group, "preferredVersion", version_entry(a, kind));
    return group;
}

static void
reply_groups(struct request *q)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *groups = json_array(a);

    json_set_string(a, tree, "kind", "APIGroupList");
    json_set_string(a, tree, "apiVersion", "v1");
    for (unsigned i = 0; i < n_kinds; i++) {
        bool is_first = kinds[i]->group[0] != '\0';

        for (unsigned k = 0; k < i; k++)
            is_first &= strcmp(kinds[k]->group, kinds[i]->group) != 0;
        if (is_first)
            json_append(a, groups, group_entry(a, kinds[i]));
    }
    json_set(a, tree, "groups", groups);
    reply_tree(&q->reply, 200, tree);
}

static bool
reply_group(struct request *q, const char *name)
{
    struct arena *a = q->arena;

    for (unsigned i = 0; i < n_kinds; i++) {
        struct json *tree;

        if (name[0] == '\0' || strcmp(kinds[i]->group, name) != 0)
            continue;
        tree = json_object(a);
        json_set_string(a, tree, "kind", "APIGroup");
        json_set_string(a, tree, "apiVersion", "v1");
        for (const struct json *entry = group_entry(a, kinds[i]); entry != NULL;
             entry = NULL)
            for (uint32_t k = 0; k < entry->count; k++)
                json_set(a,
                         tree,
                         entry->members[k].name,
                         entry->members[k].value);
        reply_tree(&q->reply, 200, tree);
        return true;
    }
    return false;
}

static struct json *
text_list(struct arena *a, const char *const *texts)
{
    struct json *list = json_array(a);

    for (; texts != NULL && *texts != NULL; texts++)
        json_append(a, list, json_string(a, *texts));
    return list;
}

static void
add_verbs(struct arena *a,
          struct json *entry,
          const struct kind *kind,
          enum subresource part)
{
    /* In order of their names. */
    static const enum verb all[] = {
        VERB_CREATE,
        VERB_DELETE,
        VERB_DELETE_COLLECTION,
        VERB_GET,
        VERB_LIST,
        VERB_PATCH,
        VERB_REPLACE,
        VERB_WATCH,
    };
    struct json *verbs = json_array(a);

    for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
        if (part == SUBRESOURCE_NONE || subresource_allows(kind, part, all[i]))
            json_append(a, verbs, json_string(a, verb_name(all[i])));
    json_set(a, entry, "verbs", verbs);
}

static struct json *
resource_entry(struct arena *a, const struct kind *kind, enum subresource part)
{
    struct json *entry = json_object(a);
    bool whole = part == SUBRESOURCE_NONE;

    json_set(
        a,
        entry,
        "name",
        whole ? json_string(a, kind->plural)
              : json_stringf(a, "%s/%s", kind->plural, subresource_name(part)));
    json_set_string(a, entry, "singularName", whole ? kind->singular : "");
    json_set_bool(a, entry, "namespaced", kind->flags & KIND_NAMESPACED);
    json_set_string(a,
                    entry,
                    "kind",
                    part == SUBRESOURCE_BINDING    ? "Binding"
                    : part == SUBRESOURCE_EVICTION ? "Eviction"
                                                   : kind->name);
    if (part == SUBRESOURCE_EVICTION) {
        json_set_string(a, entry, "group", "policy");
        json_set_string(a, entry, "version", "v1");
    }
    add_verbs(a, entry, kind, part);
    if (whole && kind->short_names != NULL)
        json_set(a, entry, "shortNames", text_list(a, kind->short_names));
    if (whole && kind->categories != NULL)
        json_set(a, entry, "categories", text_list(a, kind->categories));
    return entry;
}

static bool
has_part(const struct kind *kind, enum subresource part)
{
    for (unsigned verb = 0; verb < N_VERBS; verb++)
        if (subresource_allows(kind, part, verb))
            return true;
    return false;
}

static bool
reply_resources(struct request *q, const char *group, const char *version)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *list = json_array(a);

    json_set_string(a, tree, "kind", "APIResourceList");
    json_set_string(a, tree, "apiVersion", "v1");
    for (unsigned i = 0; i < n_kinds; i++) {
        if (strcmp(kinds[i]->group, group) != 0
            || strcmp(kinds[i]->version, version) != 0)
            continue;
        json_set_string(a, tree, "groupVersion", kinds[i]->api_version);
        json_append(a, list, resource_entry(a, kinds[i], SUBRESOURCE_NONE));
        for (unsigned part = SUBRESOURCE_STATUS; part < N_SUBRESOURCES; part++)
            if (has_part(kinds[i], part))
                json_append(a, list, resource_entry(a, kinds[i], part));
    }
    json_set(a, tree, "resources", list);
    if (list->count == 0)
        return false;
    reply_tree(&q->reply, 200, tree);
    return true;
}

static void
reply_paths(struct request *q)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *paths = json_array(a);

    json_append(a, paths, json_string(a, "/api"));
    json_append(a, paths, json_string(a, "/api/v1"));
    json_append(a, paths, json_string(a, "/apis"));
    for (unsigned i = 0; i < n_kinds; i++) {
        bool is_first = kinds[i]->group[0] != '\0';

        for (unsigned k = 0; k < i; k++)
            is_first &= strcmp(kinds[k]->group, kinds[i]->group) != 0;
        if (!is_first)
            continue;
        json_append(a, paths, json_stringf(a, "/apis/%s", kinds[i]->group));
        json_append(a,
                    paths,
                    json_stringf(a, "/apis/%s", kinds[i]->api_version));
    }
    for (unsigned i = 0; i < ARRAY_SIZE(public_paths) - 1; i++)
        json_append(a, paths, json_string(a, public_paths[i]));
    json_set(a, tree, "paths", paths);
    reply_tree(&q->reply, 200, tree);
}

/* The segments of /apis/GROUP and /apis/GROUP/VERSION. */
static bool
serve_group(struct request *q, const char *path)
{
    char *group = arena_strdup(q->arena, path);
    char *version = strchr(group, '/');

    if (version == NULL)
        return reply_group(q, group);
    *version++ = '\0';
    if (version[0] == '\0')
        return reply_group(q, group);
    version[strcspn(version, "/")] = '\0';
    return strlen(group) + 1 + strlen(version) >= strlen(path) - 1
           && reply_resources(q, group, version);
}

bool
discovery_serve(struct request *q, const char *path)
{
    if (strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0
        || strcmp(path, "/readyz") == 0)
        reply_health(q, path);
    else if (strcmp(path, "/version") == 0 || strcmp(path, "/version/") == 0)
        reply_version(q);
    else if (strcmp(path, "/metrics") == 0)
        reply_metrics(q);
    else if (strcmp(path, "/") == 0)
        reply_paths(q);
    else if (strcmp(path, "/api") == 0 || strcmp(path, "/api/") == 0)
        reply_api_versions(q);
    else if (strcmp(path, "/apis") == 0 || strcmp(path, "/apis/") == 0)
        reply_groups(q);
    else if (strcmp(path, "/api/v1") == 0 || strcmp(path, "/api/v1/") == 0)
        return reply_resources(q, "", "v1");
    else if (strncmp(path, "/apis/", 6) == 0)
        return serve_group(q, path + 6);
    else
        return false;
    return true;
}
