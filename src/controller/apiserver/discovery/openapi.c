/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas are large, and the same for everybody until the program is replaced. It is made
 * at the first request, and its URL contains its digest, so clients keep it and ask once for
 * each release.
 */
#include "controller/apiserver/discovery/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/discovery/api_resources.h"
#include "controller/apiserver/discovery/openapi_paths.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/object/kind.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/openapi/json_schema.h"

#define MAX_DOCUMENTS 16

struct openapi_document {
    char *path; /* "api/v1", "apis/batch/v1"; "" is the index */
    char *text;
    size_t length;
    char digest[DIGEST_HEX_SIZE];
};

struct openapi {
    struct openapi_document documents[MAX_DOCUMENTS];
    unsigned count;
};

void
openapi_free(struct openapi *openapi)
{
    if (openapi == NULL)
        return;
    for (unsigned i = 0; i < openapi->count; i++) {
        free(openapi->documents[i].path);
        free(openapi->documents[i].text);
    }
    free(openapi);
}

static void
keep(struct openapi *openapi, const char *path, const struct json *tree)
{
    struct openapi_document *d = &openapi->documents[openapi->count++];
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct digest digest;

    if (openapi->count > MAX_DOCUMENTS)
        abort();
    json_print(tree, &text);
    digest_of(text.text, text.length, &digest);
    digest_format(&digest, d->digest);
    d->path = xstrdup(path);
    d->length = text.length;
    d->text = xstrndup(text.text, text.length);
}

static struct json *
new_document(struct arena *a, struct json *paths, struct json *schemas)
{
    struct json *tree = json_object(a);
    struct json *info = json_object(a);
    struct json *components = json_object(a);

    json_set_string(a, tree, "openapi", "3.0.0");
    json_set_string(a, info, "title", "Kubernetes");
    json_set_string(a, info, "version", "v1.32.0");
    json_set(a, tree, "info", info);
    json_set(a, tree, "paths", paths);
    json_set(a, components, "schemas", schemas);
    json_set(a, tree, "components", components);
    return tree;
}

static void
make_version(struct openapi *openapi, const struct kind *of_version,
             const struct api_profile *profile)
{
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    const struct kind *list[API_RESOURCES_MAX_KINDS];
    const char *group = of_version->group;
    unsigned n = api_resources_kinds(group, of_version->version, profile, list);
    struct json *paths = json_object(a);
    struct json *schemas = json_object(a);

    for (unsigned i = 0; i < n; i++) {
        json_schema_add_kind(a, schemas, list[i]);
        openapi_add_paths(a, paths, list[i], profile);
    }
    keep(openapi, arena_printf(a, "%s/%s", group[0] != '\0' ? "apis" : "api", list[0]->api_version),
         new_document(a, paths, schemas));
}

static void
make_group(struct openapi *openapi, const char *group, const struct api_profile *profile)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];
    unsigned n = api_resources_versions(group, profile, list);

    for (unsigned i = 0; i < n; i++)
        make_version(openapi, list[i], profile);
}

static void
make_index(struct openapi *openapi)
{
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    struct json *tree = json_object(a);
    struct json *paths = json_make_object(a, tree, "paths");

    for (unsigned i = 0; i < openapi->count; i++) {
        const struct openapi_document *d = &openapi->documents[i];
        struct json *entry = json_make_object(a, paths, d->path);

        json_set(a, entry, "serverRelativeURL",
                 json_stringf(a, "/openapi/v3/%s?hash=%s", d->path, d->digest));
    }
    keep(openapi, "", tree);
}

static const struct openapi_document *
find(struct apiserver *server, const char *path)
{
    struct openapi *openapi = server->openapi;

    if (openapi == NULL) {
        openapi = server->openapi = xnew(struct openapi);
        for (const char *const *group = api_resources_groups; *group != NULL; group++)
            make_group(openapi, *group, server->profile);
        make_index(openapi);
    }
    for (unsigned i = 0; i < openapi->count; i++)
        if (strcmp(openapi->documents[i].path, path) == 0)
            return &openapi->documents[i];
    return NULL;
}

bool
openapi_serve(struct request *q, const char *rest, const char *if_none_match)
{
    const struct openapi_document *d;
    const char *etag;

    if (rest[0] != '/' && rest[0] != '\0')
        return false;
    d = find(q->server, rest + (rest[0] == '/'));
    if (d == NULL)
        return false;
    etag = arena_printf(q->arena, "\"%s\"", d->digest);
    reply_add_header(&q->reply, "ETag", etag);
    reply_add_header(&q->reply, "Vary", "Accept");
    /* A document's URL has its digest, so it never changes; the index may. */
    reply_add_header(&q->reply, "Cache-Control",
                     d->path[0] != '\0' ? "public, immutable" : "no-cache, private");
    if (if_none_match != NULL && strcmp(if_none_match, etag) == 0)
        reply_nothing(&q->reply, 304);
    else
        reply_text(&q->reply, 200, "application/json", d->text, d->length);
    return true;
}

void
openapi_serve_old(struct request *q, const char *accept)
{
    static const char json[] = "{\"swagger\":\"2.0\",\"info\":{\"title\":"
                               "\"Kiln\",\"version\":\"1\"},\"paths\":{}}";
    /* An openapi.v2.Document: swagger, info with title and version, paths. */
    static const char protobuf[] = "\x0a\x03"
                                   "2.0"
                                   "\x12\x09\x0a\x04"
                                   "Kiln"
                                   "\x12\x01"
                                   "1"
                                   "\x42\x00";

    if (accept != NULL && strstr(accept, "proto-openapi") != NULL)
        reply_text(&q->reply, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                   protobuf, sizeof(protobuf) - 1);
    else
        reply_text(&q->reply, 200, "application/json", json, sizeof(json) - 1);
}
