/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define BINDING(node, cpus)                                                \
    "{\"target\":{\"name\":\"" node "\"},\"allocation\":{\"cpus\":\"" cpus \
    "\",\"memoryNodes\":\"0\"}}"

static int
bind_pod(struct world *w, const char *name, const char *body)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/binding", name);

    return world_code(w, &scheduler_room, HTTP_POST, target, body);
}

START_TEST(a_binding_sets_node_allocation_and_condition)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "0-3")), 201);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);
        const struct json *condition =
            json_at(json_get_path(a.body, "status.conditions"), 0);

        ck_assert_str_eq(answer_get(&a, "spec.nodeName"), "n1");
        ck_assert_str_eq(answer_get(&a, "status.allocation.cpus"), "0-3");
        ck_assert_str_eq(json_get_text(condition, "type"), "PodScheduled");
        ck_assert_str_eq(json_get_text(condition, "status"), "True");
    }
}
END_TEST

START_TEST(no_core_is_given_twice)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "a", BINDING("n1", "0-3"));

    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "3-5")), 409);
    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n2", "3-5")), 201);
}
END_TEST

START_TEST(a_pod_that_ended_gives_its_cores_back)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "a", BINDING("n1", "0-3"));
    world_code(&w,
               &agent_n1,
               HTTP_PATCH,
               PODS "/a/status",
               "{\"status\":{\"phase\":\"Succeeded\"}}");

    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "0-3")), 201);
}
END_TEST

START_TEST(a_bound_pod_is_not_bound_again)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    bind_pod(&w, "a", BINDING("n1", "0"));

    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "0")), 409);
}
END_TEST

START_TEST(a_pod_bound_without_an_allocation_is_given_one_where_it_is)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{\"name\":\"n1\"}}"), 201);

    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{\"name\":\"n1\"}}"), 409);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "0")), 409);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "0")), 201);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "1")), 409);
}
END_TEST

START_TEST(cpus_that_the_node_does_not_have_are_refused)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w,
               &admin,
               HTTP_POST,
               "/api/v1/nodes",
               "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"topology\":{"
               "\"cpus\":\"0-1,3\"}}}");
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    {
        CLEANUP_ANSWER struct answer a = world_ask(&w,
                                                   &scheduler_room,
                                                   HTTP_POST,
                                                   PODS "/a/binding",
                                                   BINDING("n1", "1-3"));

        ck_assert_int_eq(a.code, 409);
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"),
                                     "node n1 does not have the CPUs 2"));
    }
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "1,3")), 201);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "b", BINDING("n1", "0-1"));

    ck_assert_int_eq(bind_pod(&w, "nobody", BINDING("n1", "0")), 404);
    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{}}"), 500);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "zero")), 422);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "zero")), 422);
    ck_assert_int_eq(
        bind_pod(&w, "a", "{\"metadata\":{\"name\":\"x\"},\"target\":{}}"),
        400);
}
END_TEST

SUITE("bind",
      a_binding_sets_node_allocation_and_condition,
      no_core_is_given_twice,
      a_pod_that_ended_gives_its_cores_back,
      a_bound_pod_is_not_bound_again,
      a_pod_bound_without_an_allocation_is_given_one_where_it_is,
      cpus_that_the_node_does_not_have_are_refused,
      nonsense_is_refused)
