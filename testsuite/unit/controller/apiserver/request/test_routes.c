/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/routes.h"

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "testsuite/lib/suite.h"

static const struct {
    enum http_method method;
    const char *path;
    bool wants_watch;
    enum route_result result;
    enum verb verb;
    const struct kind *kind;
    const char *namespace;
    const char *name;
    enum subresource part;
} paths[] = {
    {HTTP_GET, "/api/v1/pods", false, ROUTE_FOUND, VERB_LIST, &pod_kind, NULL, NULL,
     SUBRESOURCE_NONE},
    {HTTP_GET, "/api/v1/pods", true, ROUTE_FOUND, VERB_WATCH, &pod_kind, NULL, NULL,
     SUBRESOURCE_NONE},
    {HTTP_GET, "/api/v1/namespaces/a/pods/", false, ROUTE_FOUND, VERB_LIST, &pod_kind, "a", NULL,
     SUBRESOURCE_NONE},
    {HTTP_POST, "/api/v1/namespaces/a/pods", false, ROUTE_FOUND, VERB_CREATE, &pod_kind, "a", NULL,
     SUBRESOURCE_NONE},
    {HTTP_DELETE, "/api/v1/namespaces/a/pods", false, ROUTE_FOUND, VERB_DELETE_COLLECTION,
     &pod_kind, "a", NULL, SUBRESOURCE_NONE},
    {HTTP_GET, "/api/v1/namespaces/a/pods/b", false, ROUTE_FOUND, VERB_GET, &pod_kind, "a", "b",
     SUBRESOURCE_NONE},
    {HTTP_PATCH, "/api/v1/namespaces/a/pods/b/status", false, ROUTE_FOUND, VERB_PATCH, &pod_kind,
     "a", "b", SUBRESOURCE_STATUS},
    {HTTP_POST, "/api/v1/namespaces/a/pods/b/binding", false, ROUTE_FOUND, VERB_CREATE, &pod_kind,
     "a", "b", SUBRESOURCE_BINDING},
    {HTTP_POST, "/api/v1/namespaces/a/bindings", false, ROUTE_FOUND, VERB_CREATE, &pod_kind, "a",
     NULL, SUBRESOURCE_BINDING},
    {HTTP_GET, "/api/v1/namespaces/a", false, ROUTE_FOUND, VERB_GET, &namespace_kind, NULL, "a",
     SUBRESOURCE_NONE},
    {HTTP_GET, "/api/v1/namespaces/a/status", false, ROUTE_FOUND, VERB_GET, &namespace_kind, NULL,
     "a", SUBRESOURCE_STATUS},
    {HTTP_PUT, "/api/v1/namespaces/a/finalize", false, ROUTE_FOUND, VERB_REPLACE, &namespace_kind,
     NULL, "a", SUBRESOURCE_FINALIZE},
    {HTTP_GET, "/api/v1/watch/namespaces/a/pods/b", false, ROUTE_FOUND, VERB_WATCH, &pod_kind, "a",
     "b", SUBRESOURCE_NONE},
    {HTTP_GET, "/apis/batch/v1/namespaces/a/jobs/b/script", false, ROUTE_FOUND, VERB_GET, &job_kind,
     "a", "b", SUBRESOURCE_SCRIPT},
    {HTTP_POST, "/api/v1/pods", false, ROUTE_NO_METHOD, 0, NULL, NULL, NULL, 0},
    {HTTP_PUT, "/api/v1/namespaces/a/pods", false, ROUTE_NO_METHOD, 0, NULL, NULL, NULL, 0},
    {HTTP_POST, "/api/v1/namespaces/a/pods/b", false, ROUTE_NO_METHOD, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/api/v1/pods/b", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/api/v1/namespaces/a/nodes", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/api/v1//namespaces", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/api/v1/namespaces/a/pods/b/nosuch", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL,
     0},
    {HTTP_GET, "/api/v1/namespaces/a/pods/b/log/c/d", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL,
     0},
    {HTTP_GET, "/apis/batch/v7/jobs", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/apis/nope/v1/jobs", false, ROUTE_NO_PATH, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/nonsense", false, ROUTE_NO_PATH, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/", false, ROUTE_NO_PATH, 0, NULL, NULL, NULL, 0},
    {HTTP_GET, "/api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m", false, ROUTE_NO_RESOURCE, 0, NULL, NULL, NULL,
     0},
};

static void
assert_text(const char *is, const char *wanted)
{
    if (wanted == NULL)
        ck_assert_ptr_null(is);
    else
        ck_assert_str_eq(is, wanted);
}

START_TEST(every_path_means_one_thing)
{
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct route route = {0};
        enum route_result result =
            route_find(arena, paths[i].method, paths[i].path, paths[i].wants_watch, &route);

        ck_assert_msg(result == paths[i].result, "%s", paths[i].path);
        if (result != ROUTE_FOUND)
            continue;
        ck_assert_msg(route.verb == paths[i].verb, "%s", paths[i].path);
        ck_assert_ptr_eq(route.kind, paths[i].kind);
        ck_assert_int_eq(route.subresource, paths[i].part);
        assert_text(route.namespace, paths[i].namespace);
        assert_text(route.name, paths[i].name);
    }
}
END_TEST

START_TEST(names_of_subresources_read_back)
{
    for (unsigned i = SUBRESOURCE_STATUS; i < N_SUBRESOURCES; i++)
        ck_assert_int_eq(subresource_parse(subresource_name(i)), i);
    ck_assert_int_eq(subresource_parse("nosuch"), N_SUBRESOURCES);
}
END_TEST

SUITE("routes", every_path_means_one_thing, names_of_subresources_read_back)
