/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt of a Job whose attempts are whole: all of it is created, or nothing. */
#include <stdio.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

static const struct principal job_controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

#define GANG   JOBS "/wide/gang"
#define QUOTAS "/api/v1/namespaces/default/resourcequotas"
#define GROUPS "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"

static const char wide[] =
    "{\"metadata\":{\"name\":\"wide\"},\"spec\":{\"completionMode\":\"Indexed\",\"parallelism\":3,"
    "\"completions\":3,\"backoffLimit\":0,\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}},"
    "\"disruptionMode\":{\"all\":{}}},\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
    "\"execution\":{\"runs\":\"Each\"},\"containers\":[{\"name\":\"main\",\"command\":["
    "\"/bin/true\"],\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}";

static char uid[64];

static void
begin(struct world *w)
{
    CLEANUP_ANSWER struct answer a = {0};

    world_init(w);
    a = world_ask(w, &alice, HTTP_POST, JOBS, wide);
    ck_assert_msg(a.code == 201, "%s", answer_get(&a, "message"));
    (void)snprintf(uid, sizeof(uid), "%s", answer_get(&a, "metadata.uid"));
}

static void
add_owner(struct strbuf *out)
{
    strbuf_printf(out,
                  "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                  "\"name\":\"wide\",\"uid\":\"%s\",\"controller\":true}]",
                  uid);
}

static struct answer
make(struct world *w, const struct principal *who, int n)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_printf(&body,
                  "{\"uid\":\"%s\",\"group\":{\"apiVersion\":\"scheduling.k8s.io/v1beta1\","
                  "\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"wide\",",
                  uid);
    add_owner(&body);
    strbuf_add_text(&body,
                    "},\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":3}}}},\"make\":[");
    for (int i = 0; i < n; i++) {
        strbuf_printf(
            &body,
            "%s{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"wide-%d\","
            "\"labels\":{\"batch.kubernetes.io/job-completion-index\":\"%d\"},",
            i > 0 ? "," : "", i, i);
        add_owner(&body);
        strbuf_add_text(
            &body, "},\"spec\":{\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsUser\":"
                   "2001,\"runAsGroup\":2001},\"schedulingGroup\":{\"podGroupName\":\"wide\"},"
                   "\"containers\":[{\"name\":\"main\",\"command\":[\"");
        strbuf_add_text(&body, i == 0 ? "/bin/true" : "kiln-pause");
        strbuf_add_text(&body, "\"],\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
    }
    strbuf_add_text(&body, "]}");
    return world_ask(w, who, HTTP_POST, GANG, body.text);
}

static int
code_of(struct world *w, const char *path)
{
    return world_code(w, &job_controller, HTTP_GET, path, NULL);
}

START_TEST(a_gang_is_created_with_its_group)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer a = {0}, again = {0};

    begin(&w);
    a = make(&w, &job_controller, 3);
    ck_assert_msg(a.code == 200, "%s", answer_get(&a, "message"));
    ck_assert_int_eq(code_of(&w, GROUPS "/wide"), 200);
    ck_assert_int_eq(code_of(&w, PODS "/wide-0"), 200);
    for (int i = 1; i < 3; i++) { /* the first runs another program */
        char path[128];
        CLEANUP_ANSWER struct answer pod = {0};
        const struct json *main;

        (void)snprintf(path, sizeof(path), PODS "/wide-%d", i);
        pod = world_ask(&w, &job_controller, HTTP_GET, path, NULL);
        main = json_at(json_get_path(pod.body, "spec.containers"), 0);
        ck_assert_str_eq(json_text(json_at(json_get(main, "command"), 0)), "kiln-pause");
    }

    again = make(&w, &job_controller, 3); /* its answer was lost */
    ck_assert_int_eq(again.code, 200);
}
END_TEST

static void
set_quota(struct world *w, int pods)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_printf(&body, "{\"status\":{\"hard\":{\"pods\":\"%d\"},\"used\":{\"pods\":\"0\"}}}",
                  pods);
    ck_assert_int_eq(world_code(w, &job_controller, HTTP_PATCH, QUOTAS "/q/status", body.text),
                     200);
}

START_TEST(a_quota_for_a_part_of_a_gang_creates_none_of_it)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer a = {0}, later = {0};

    begin(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, QUOTAS,
                                "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{"
                                "\"pods\":\"2\"}}}"),
                     201);
    set_quota(&w, 2);
    a = make(&w, &job_controller, 3);
    ck_assert_int_eq(a.code, 403);
    ck_assert_msg(strstr(answer_get(&a, "message"), "exceeded quota: q") != NULL, "%s",
                  answer_get(&a, "message"));
    ck_assert_int_eq(code_of(&w, GROUPS "/wide"), 404);
    ck_assert_int_eq(code_of(&w, PODS "/wide-0"), 404);
    ck_assert_int_eq(code_of(&w, PODS "/wide-1"), 404);

    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_PATCH, QUOTAS "/q", "{\"spec\":{\"hard\":{\"pods\":\"3\"}}}"),
        200);
    set_quota(&w, 3);
    later = make(&w, &job_controller, 3);
    ck_assert_msg(later.code == 200, "%s", answer_get(&later, "message"));
}
END_TEST

START_TEST(a_gang_is_not_made_of_fewer_pods_or_by_others)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer few = {0}, users = {0}, taken = {0};

    begin(&w);
    few = make(&w, &job_controller, 2);
    ck_assert_int_eq(few.code, 400);
    users = make(&w, &alice, 3);
    ck_assert_int_eq(users.code, 403);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, GROUPS,
                                "{\"metadata\":{\"name\":\"wide\"},\"spec\":{\"schedulingPolicy\":{"
                                "\"basic\":{}}}}"),
                     201);
    taken = make(&w, &job_controller, 3);
    ck_assert_int_eq(taken.code, 403);
    ck_assert_ptr_nonnull(
        strstr(answer_get(&taken, "message"), "PodGroup 'wide' is not of this job"));
    ck_assert_int_eq(code_of(&w, PODS "/wide-0"), 404);
}
END_TEST

START_TEST(the_group_of_an_attempt_is_not_made_by_other_users)
{
    CLEANUP_WORLD struct world w;
    static const char later[] = "{\"metadata\":{\"name\":\"wide-r1\"},\"spec\":{"
                                "\"schedulingPolicy\":{\"basic\":{}}}}";

    begin(&w);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, GROUPS, later), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, GROUPS, later), 201);
}
END_TEST

SUITE("make_pods", a_gang_is_created_with_its_group,
      a_quota_for_a_part_of_a_gang_creates_none_of_it,
      a_gang_is_not_made_of_fewer_pods_or_by_others,
      the_group_of_an_attempt_is_not_made_by_other_users)
