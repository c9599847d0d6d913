/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define BIND "{\"target\":{\"name\":\"n1\"}}"

START_TEST(a_pod_that_waits_goes_at_once)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a", NULL), 200);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 404);
}
END_TEST

START_TEST(a_pod_on_a_node_goes_when_its_agent_says_so)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BIND);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_DELETE, PODS "/a?gracePeriodSeconds=60", NULL);
        CLEANUP_ANSWER struct answer longer =
            world_ask(&w, &alice, HTTP_DELETE, PODS "/a?gracePeriodSeconds=90", NULL);
        CLEANUP_ANSWER struct answer shorter =
            world_ask(&w, &alice, HTTP_DELETE, PODS "/a?gracePeriodSeconds=10", NULL);

        ck_assert_str_eq(answer_get(&a, "metadata.deletionTimestamp"), "2024-01-01T00:01:00Z");
        ck_assert_str_eq(answer_get(&longer, "metadata.deletionTimestamp"), "2024-01-01T00:01:00Z");
        ck_assert_str_eq(answer_get(&shorter, "metadata.deletionTimestamp"),
                         "2024-01-01T00:00:10Z");
    }
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_DELETE, PODS "/a?gracePeriodSeconds=0", NULL),
                     200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 404);
}
END_TEST

START_TEST(an_object_with_a_finalizer_goes_with_the_last_of_them)
{
    CLEANUP_WORLD struct world w;
    const char *maps = "/api/v1/namespaces/default/configmaps";
    const char *map = "/api/v1/namespaces/default/configmaps/m";

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, maps,
               "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"a.b/c\"]}}");

    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, map, NULL), 200);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, map, NULL), 200);
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_PATCH, map, "{\"metadata\":{\"finalizers\":null}}"), 200);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, map, NULL), 404);
}
END_TEST

START_TEST(a_job_leaves_its_pods_unless_told_otherwise)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"a\""));
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"b\""));
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_DELETE, JOBS "/a", NULL);
        CLEANUP_ANSWER struct answer b = world_ask(&w, &alice, HTTP_DELETE,
                                                   JOBS "/b?propagationPolicy="
                                                        "Background",
                                                   NULL);

        ck_assert_uint_eq(a.n_warnings, 1);
        ck_assert_ptr_nonnull(strstr(a.text, "\"orphan\""));
        ck_assert_uint_eq(b.n_warnings, 0);
        ck_assert_str_eq(answer_get(&b, "status"), "Success");
    }
    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, JOBS "/b", NULL), 404);
}
END_TEST

START_TEST(a_precondition_that_does_not_hold_keeps_it)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_DELETE, PODS "/a", "{\"preconditions\":{\"uid\":\"other\"}}"),
        409);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 200);
}
END_TEST

START_TEST(an_object_that_everything_needs_stays)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, "/api/v1/namespaces/default", NULL), 403);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE,
                                "/apis/scheduling.k8s.io/v1/priorityclasses/"
                                "system-node-critical",
                                NULL),
                     403);
}
END_TEST

START_TEST(a_collection_goes_whole_a_little_at_a_time)
{
    CLEANUP_WORLD struct world w;
    const char *maps = "/api/v1/namespaces/default/configmaps";

    world_init(&w);
    for (int i = 0; i < 30; i++) {
        CLEANUP_FREE char *body = xasprintf("{\"metadata\":{\"name\":\"m%d\","
                                            "\"labels\":{\"third\":\"%s\"}}}",
                                            i, i % 3 == 0 ? "yes" : "no");

        ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, maps, body), 201);
    }
    {
        CLEANUP_ANSWER struct answer deleted = world_ask(&w, &admin, HTTP_DELETE,
                                                         "/api/v1/namespaces/default/configmaps"
                                                         "?labelSelector=third%3Dno",
                                                         NULL);
        CLEANUP_ANSWER struct answer left = world_ask(&w, &admin, HTTP_GET, maps, NULL);

        ck_assert_int_eq(deleted.code, 200);
        ck_assert_uint_eq(json_count(json_get(deleted.body, "items")), 20);
        ck_assert_uint_eq(json_count(json_get(left.body, "items")), 10);
    }
}
END_TEST

#define MAPS "/api/v1/namespaces/default/configmaps"

/* All three requests are in the store before the loop runs the first step of
 * the collection's deletion.
 */
START_TEST(an_object_that_took_a_name_of_the_collection_stays)
{
    CLEANUP_WORLD struct world w;
    struct asked all, one, again;
    static const struct question ask_all = {.who = &admin, .method = HTTP_DELETE, .target = MAPS},
                                 ask_one = {.who = &admin,
                                            .method = HTTP_DELETE,
                                            .target = MAPS "/reused"},
                                 ask_again = {
                                     .who = &alice,
                                     .method = HTTP_POST,
                                     .target = MAPS,
                                     .format = BODY_JSON,
                                     .body = "{\"metadata\":{\"name\":"
                                             "\"reused\"}}",
                                 };

    world_init(&w);
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_POST, MAPS, "{\"metadata\":{\"name\":\"reused\"}}"), 201);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, MAPS, "{\"metadata\":{\"name\":\"other\"}}"),
                     201);
    world_begin(&w, &ask_all, &all);
    world_begin(&w, &ask_one, &one);
    world_begin(&w, &ask_again, &again);
    {
        CLEANUP_ANSWER struct answer of_all = world_wait(&w, &all);
        CLEANUP_ANSWER struct answer of_one = world_wait(&w, &one);
        CLEANUP_ANSWER struct answer of_again = world_wait(&w, &again);
        CLEANUP_ANSWER struct answer left = world_ask(&w, &admin, HTTP_GET, MAPS, NULL);

        ck_assert_int_eq(of_all.code, 200);
        ck_assert_uint_eq(json_count(json_get(of_all.body, "items")), 2);
        ck_assert_int_eq(of_one.code, 200);
        ck_assert_int_eq(of_again.code, 201);
        ck_assert_uint_eq(json_count(json_get(left.body, "items")), 1);
        ck_assert_str_eq(
            answer_get(&of_again, "metadata.uid"),
            json_get_text(json_get(json_at(json_get(left.body, "items"), 0), "metadata"), "uid"));
    }
}
END_TEST

/* 9.3e12 seconds in microseconds exceed 64 bits. */
START_TEST(the_longest_grace_is_a_time_that_can_be_written)
{
    static const char *const graces[] = {
        "gracePeriodSeconds=9300000000000",
        "gracePeriodSeconds=9223372036854775807",
    };

    for (size_t i = 0; i < ARRAY_SIZE(graces); i++) {
        CLEANUP_WORLD struct world w;
        CLEANUP_FREE char *path = xasprintf(PODS "/a?%s", graces[i]);
        int64_t deleted_us = 0, now_us;

        time_parse("2024-01-01T00:00:00Z", &now_us);
        world_init(&w);
        world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
        world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BIND);
        ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, path, NULL), 200);
        {
            CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);

            ck_assert_int_eq(time_parse(answer_get(&a, "metadata.deletionTimestamp"), &deleted_us),
                             0);
            ck_assert_int_gt(deleted_us, now_us);
        }
        ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a?gracePeriodSeconds=10", NULL),
                         200);
        {
            CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);

            ck_assert_int_eq(time_parse(answer_get(&a, "metadata.deletionTimestamp"), &deleted_us),
                             0);
            ck_assert_int_eq(deleted_us, now_us + 10000000);
        }
    }
}
END_TEST

SUITE("delete", a_pod_that_waits_goes_at_once, a_pod_on_a_node_goes_when_its_agent_says_so,
      an_object_with_a_finalizer_goes_with_the_last_of_them,
      a_job_leaves_its_pods_unless_told_otherwise, a_precondition_that_does_not_hold_keeps_it,
      an_object_that_everything_needs_stays, a_collection_goes_whole_a_little_at_a_time,
      an_object_that_took_a_name_of_the_collection_stays,
      the_longest_grace_is_a_time_that_can_be_written)
