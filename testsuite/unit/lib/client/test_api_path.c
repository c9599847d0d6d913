/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/api_path.h"

#include <check.h>

#include "lib/api/object/kind.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "testsuite/lib/suite.h"

START_TEST(a_request_goes_where_the_api_has_it)
{
    static const struct {
        struct client_request request;
        const char *target;
    } cases[] = {
        {{.kind = &node_kind}, "/api/v1/nodes"},
        {{.kind = &node_kind, .namespace = "ignored", .name = "n7"}, "/api/v1/nodes/n7"},
        {{.kind = &pod_kind}, "/api/v1/pods"},
        {{.kind = &job_kind, .namespace = "physics", .name = "job-7"},
         "/apis/batch/v1/namespaces/physics/jobs/job-7"},
        {{.kind = &pod_kind, .namespace = "default", .name = "a", .subresource = "status"},
         "/api/v1/namespaces/default/pods/a/status"},
        {{.kind = &pod_kind, .namespace = "default", .name = "a", .subresource = "binding"},
         "/api/v1/namespaces/default/pods/a/binding"},
        {{.kind = &pod_kind, .namespace = "default", .subresource = "binding"},
         "/api/v1/namespaces/default/bindings"},
        {{.kind = &job_kind,
          .label_selector = "a=b,c in (d)",
          .field_selector = "status.id=7",
          .limit = 5,
          .continue_token = "x/y",
          .query = "dryRun=All"},
         "/apis/batch/v1/jobs?labelSelector=a%3Db%2Cc%20in%20%28d%29"
         "&fieldSelector=status.id%3D7&continue=x%2Fy&limit=5&dryRun=All"},
        {{.kind = &pod_kind, .query = "dryRun=All"}, "/api/v1/pods?dryRun=All"},
        {{.kind = &pod_kind, .label_selector = "", .query = ""}, "/api/v1/pods"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        api_path_of_request(&cases[i].request, &out);
        ck_assert_str_eq(out.text, cases[i].target);
    }
}
END_TEST

START_TEST(a_name_from_outside_cannot_leave_its_place)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct client_request request = {
        .kind = &pod_kind, .namespace = "../x", .name = "a/b?c#d%"};

    api_path_of_request(&request, &out);

    ck_assert_str_eq(out.text, "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc%23d%25");
}
END_TEST

START_TEST(a_watch_asks_for_bookmarks)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct client_watch_request request = {
        .kind = &pod_kind,
        .field_selector = "spec.nodeName=n7",
        .resource_version = "12",
    };

    api_path_of_watch(&request, &out);

    ck_assert_str_eq(out.text, "/api/v1/pods?watch=true&allowWatchBookmarks=true"
                               "&fieldSelector=spec.nodeName%3Dn7&resourceVersion=12");
}
END_TEST

SUITE("locator", a_request_goes_where_the_api_has_it, a_name_from_outside_cannot_leave_its_place,
      a_watch_asks_for_bookmarks)
