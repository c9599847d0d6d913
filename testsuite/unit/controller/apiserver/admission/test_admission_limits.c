/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <time.h>

#include "lib/api/value/quantity.h"
#include "testsuite/lib/suite.h"

#define POD_WITH(name, spec)                                             \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"restartPolicy\":" \
    "\"Never\"," spec "\"containers\":[{\"name\":\"main\",\"command\":[" \
    "\"/bin/true\"]}]}}"

static const struct principal anna = PERSON(ADMINISTRATOR, 1600, "anna");

static void
refused(struct world *w, const struct principal *who, const char *body, const char *words)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, who, HTTP_POST, PODS, body);

    ck_assert_int_eq(a.code, 403);
    ck_assert_msg(strstr(answer_get(&a, "message"), words) != NULL, "%s",
                  answer_get(&a, "message"));
}

static void
taken(struct world *w, const struct principal *who, const char *body)
{
    ck_assert_int_eq(world_code(w, who, HTTP_POST, PODS, body), 201);
}

START_TEST(a_user_has_so_many_objects_and_others_as_many)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.per_user.objects = 2;
    taken(&w, &alice, POD("a"));
    taken(&w, &alice, POD("b"));
    refused(&w, &alice, POD("c"), "limits.perUser.objects");
    taken(&w, &bob, POD("d"));
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a", "{\"metadata\":{}}"), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a?gracePeriodSeconds=0", NULL),
                     200);
    taken(&w, &alice, POD("c"));
}
END_TEST

static int
make_group(struct world *w, const char *name, const char *job_uid)
{
    CLEANUP_FREE char *body = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
        "\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]},"
        "\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}}}",
        name, job_uid);

    return world_code(w, &alice, HTTP_POST,
                      "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups", body);
}

/* The PodGroup that Kiln makes for a Job does not count, and others of a user
 * count even if they say that they belong to his Job.
 */
START_TEST(podgroups_that_name_a_job_count)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.per_user.objects = 2;
    {
        CLEANUP_ANSWER struct answer job =
            world_ask(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
        const char *uid = json_path_text(job.body, "metadata.uid");

        ck_assert_int_eq(job.code, 201);
        ck_assert_int_eq(make_group(&w, "j", uid), 201);
        ck_assert_int_eq(make_group(&w, "a", uid), 201);
        ck_assert_int_eq(make_group(&w, "b", uid), 403);
    }
}
END_TEST

START_TEST(root_of_the_socket_has_no_limit)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.per_user.objects = 1;
    w.policy.limits.per_user.bytes = 1;
    w.policy.allows_root_jobs = true;
    taken(&w, &admin, POD("a"));
    taken(&w, &admin, POD("b"));
    refused(&w, &anna, POD("c"), "limits.perUser.bytes");
}
END_TEST

START_TEST(a_refused_or_rolled_back_object_does_not_count)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.per_user.objects = 2;
    taken(&w, &alice, POD("a"));
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("a")), 409);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS "?dryRun=All", POD("b")), 201);
    taken(&w, &alice, POD("b"));
}
END_TEST

START_TEST(a_user_without_bytes_left_may_shrink_and_release)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_STRBUF struct strbuf patch = STRBUF_INIT;

    world_init(&w);
    taken(&w, &alice, POD("a"));
    strbuf_add_text(&patch, "{\"metadata\":{\"annotations\":{\"big\":\"");
    for (int i = 0; i < 10000; i++)
        strbuf_add_char(&patch, 'x');
    strbuf_add_text(&patch, "\"}}}");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a", patch.text), 200);
    w.policy.limits.per_user.bytes = 9000;

    refused(&w, &alice, POD("b"), "limits.perUser.bytes");
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, PODS "/a", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"),
        200);
    strbuf_truncate(&patch, 0);
    strbuf_add_text(&patch, "{\"metadata\":{\"annotations\":{\"more\":\"");
    for (int i = 0; i < 2000; i++)
        strbuf_add_char(&patch, 'x');
    strbuf_add_text(&patch, "\"}}}");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a", patch.text), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a",
                                "{\"metadata\":{\"annotations\":{\"big\":null}}}"),
                     200);
    taken(&w, &alice, POD("b"));
}
END_TEST

START_TEST(time_and_grace_have_the_sites_most)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    taken(&w, &alice, POD_WITH("old", "\"activeDeadlineSeconds\":9000,"));
    w.policy.limits.maximum_time_us = 3600 * INT64_C(1000000);
    w.policy.limits.maximum_grace_us = 60 * INT64_C(1000000);

    refused(&w, &alice, POD_WITH("a", "\"activeDeadlineSeconds\":3601,"),
            "MaximumTime: activeDeadlineSeconds of 3601 seconds is more than "
            "the 3600 that the site allows (limits.maximumTime)");
    refused(&w, &alice, POD_WITH("a", "\"terminationGracePeriodSeconds\":61,"),
            "limits.maximumGrace");
    taken(&w, &alice, POD_WITH("a", "\"activeDeadlineSeconds\":3600,"));
    taken(&w, &anna, POD_WITH("b", "\"activeDeadlineSeconds\":9000,"));
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/old",
                                "{\"metadata\":{\"labels\":{\"still\":\"good\"}}}"),
                     200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a",
                                "{\"spec\":{\"activeDeadlineSeconds\":7000}}"),
                     403);
}
END_TEST

START_TEST(a_pod_that_asks_for_nothing_gets_the_sites_defaults)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.maximum_time_us = 3600 * INT64_C(1000000);
    w.policy.limits.pids_per_pod = 500;
    w.policy.limits.default_memory = 1 << 30;
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
        const struct json *template = json_get_path(a.body, "spec.template");
        const struct json *main = json_at(json_get_path(template, "spec.containers"), 0);

        ck_assert_int_eq(a.code, 201);
        ck_assert_int_eq(json_get_int(json_get(template, "spec"), "activeDeadlineSeconds", 0),
                         3600);
        ck_assert_str_eq(
            json_get_text(json_get_path(template, "metadata.annotations"), "kiln.hpc/pids-limit"),
            "500");
        ck_assert_int_eq(quantity_text_value(json_path_text(main, "resources.limits.memory")),
                         1 << 30);
    }
    refused(&w, &alice,
            "{\"metadata\":{\"name\":\"p\",\"annotations\":{"
            "\"kiln.hpc/pids-limit\":\"501\"}},\"spec\":{\"restartPolicy\":"
            "\"Never\",\"containers\":[{\"name\":\"main\"}]}}",
            "PidsPerPod: 501 processes");
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, PODS,
                      "{\"metadata\":{\"name\":\"q\",\"annotations\":{"
                      "\"kiln.hpc/pids-limit\":\"20\"}},\"spec\":{\"restartPolicy\":"
                      "\"Never\",\"containers\":[{\"name\":\"main\",\"resources\":{"
                      "\"requests\":{\"memory\":\"5Mi\"}}}]}}");
        const struct json *main = json_at(json_get_path(a.body, "spec.containers"), 0);

        ck_assert_int_eq(a.code, 201);
        ck_assert_str_eq(json_path_text(main, "resources.requests.memory"), "5Mi");
        ck_assert_str_eq(json_path_text(main, "resources.limits.memory"), "1073741824");
        ck_assert_str_eq(
            json_get_text(json_get_path(a.body, "metadata.annotations"), "kiln.hpc/pids-limit"),
            "20");
    }
}
END_TEST

/* The CPU time of a request for a Partition with that many users, which is
 * refused because these are too many.
 */
static clock_t
cost_of_names(struct world *w, unsigned n)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    clock_t began;

    strbuf_add_text(&s, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"selector\":{"
                        "\"matchLabels\":{\"a\":\"b\"}},\"allowedUsers\":[\"x\"");
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(&s, ",\"user%u\"", i);
    strbuf_add_text(&s, "]}}");
    began = clock();
    ck_assert_int_eq(world_code(w, &admin, HTTP_POST, "/apis/kiln.hpc/v1/partitions", s.text), 422);
    return clock() - began;
}

START_TEST(names_to_be_checked_cost_no_more_than_their_number)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_lt(cost_of_names(&w, 40000), 8 * cost_of_names(&w, 10000) + CLOCKS_PER_SEC / 20);
}
END_TEST

SUITE("admission_limits", a_user_has_so_many_objects_and_others_as_many,
      podgroups_that_name_a_job_count, root_of_the_socket_has_no_limit,
      a_refused_or_rolled_back_object_does_not_count,
      a_user_without_bytes_left_may_shrink_and_release, time_and_grace_have_the_sites_most,
      a_pod_that_asks_for_nothing_gets_the_sites_defaults,
      names_to_be_checked_cost_no_more_than_their_number)
