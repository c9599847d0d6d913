/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define NODES "/api/v1/nodes"
#define BINDING(node, cpus)                                                \
    "{\"target\":{\"name\":\"" node "\"},\"allocation\":{\"cpus\":\"" cpus \
    "\",\"memoryNodes\":\"0\"}}"
#define FORCE "?gracePeriodSeconds=0"

/* A pod on n1, and another one that waits. */
static void
begin(struct world *w, const char *taints)
{
    CLEANUP_FREE char *node =
        xasprintf("{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"taints\":[%s]}}", taints);

    world_init(w);
    ck_assert_int_eq(world_code(w, &admin, HTTP_POST, NODES, node), 201);
    world_code(w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(w, &alice, HTTP_POST, PODS, POD("b"));
    ck_assert_int_eq(
        world_code(w, &scheduler_room, HTTP_POST, PODS "/a/binding", BINDING("n1", "0-3")), 201);
}

static unsigned
count_remnants(struct world *w)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, NODES "/n1", NULL);

    return json_count(json_get_path(a.body, "status.remnants"));
}

static int
bind_b(struct world *w)
{
    return world_code(w, &scheduler_room, HTTP_POST, PODS "/b/binding", BINDING("n1", "2-5"));
}

START_TEST(a_pod_deleted_by_force_keeps_its_cores)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a" FORCE, NULL), 200);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 404);
    ck_assert_int_eq(bind_b(&w), 409);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, NODES "/n1", NULL);
        const struct json *left = json_get_path(a.body, "status.remnants");

        ck_assert_uint_eq(json_count(left), 1);
        ck_assert_str_eq(json_get_text(left->members[0].value, "name"), "a");
        ck_assert_str_eq(json_path_text(left->members[0].value, "allocation.cpus"), "0-3");
    }
}
END_TEST

START_TEST(until_the_agent_says_that_it_is_gone)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *patch = NULL;

    begin(&w, "");
    world_code(&w, &alice, HTTP_DELETE, PODS "/a" FORCE, NULL);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, NODES "/n1", NULL);

        patch = xasprintf("{\"status\":{\"remnants\":{\"%s\":null}}}",
                          json_get_path(a.body, "status.remnants")->members[0].name);
    }
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, NODES "/n1/status", patch), 200);

    ck_assert_uint_eq(count_remnants(&w), 0);
    ck_assert_int_eq(bind_b(&w), 201);
}
END_TEST

START_TEST(a_client_that_does_not_know_of_it_keeps_it)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "");
    world_code(&w, &alice, HTTP_DELETE, PODS "/a" FORCE, NULL);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PUT, NODES "/n1/status",
                                "{\"metadata\":{\"name\":\"n1\"},\"status\":{"
                                "\"capacity\":{\"cpu\":\"8\"}}}"),
                     200);

    ck_assert_uint_eq(count_remnants(&w), 1);
}
END_TEST

START_TEST(an_agent_that_removes_its_pod_leaves_nothing)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "");
    world_code(&w, &alice, HTTP_DELETE, PODS "/a", NULL);
    world_code(&w, &agent_n1, HTTP_DELETE, PODS "/a" FORCE, NULL);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 404);
    ck_assert_uint_eq(count_remnants(&w), 0);
}
END_TEST

START_TEST(neither_does_one_that_had_ended)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "");
    world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status",
               "{\"status\":{\"phase\":\"Succeeded\"}}");
    world_code(&w, &alice, HTTP_DELETE, PODS "/a" FORCE, NULL);

    ck_assert_uint_eq(count_remnants(&w), 0);
}
END_TEST

START_TEST(nothing_is_left_on_a_node_that_is_fenced)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "{\"key\":\"node.kubernetes.io/out-of-service\","
              "\"effect\":\"NoExecute\"}");
    world_code(&w, &alice, HTTP_DELETE, PODS "/a" FORCE, NULL);

    ck_assert_uint_eq(count_remnants(&w), 0);
}
END_TEST

START_TEST(two_that_are_deleted_in_one_request_are_both_left)
{
    CLEANUP_WORLD struct world w;

    begin(&w, "");
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/b/binding", BINDING("n1", "4-5"));
    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, PODS FORCE, NULL), 200);

    ck_assert_uint_eq(count_remnants(&w), 2);
}
END_TEST

SUITE("retained_on_node", a_pod_deleted_by_force_keeps_its_cores,
      until_the_agent_says_that_it_is_gone, a_client_that_does_not_know_of_it_keeps_it,
      an_agent_that_removes_its_pod_leaves_nothing, neither_does_one_that_had_ended,
      nothing_is_left_on_a_node_that_is_fenced, two_that_are_deleted_in_one_request_are_both_left)
