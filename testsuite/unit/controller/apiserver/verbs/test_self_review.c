/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define ACCESS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define RULES  "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
#define WHO    "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define MAY(verb, resource, rest)                                   \
    "{\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\"," \
    "\"verb\":\"" verb "\",\"resource\":\"" resource "\"" rest "}}}"
#define PATH(path) "{\"spec\":{\"nonResourceAttributes\":{\"path\":\"" path "\",\"verb\":\"get\"}}}"

static const struct {
    const struct principal *who;
    const char *body;
    bool is_allowed;
} questions[] = {
    {&admin, MAY("delete", "nodes", ""), true},
    {&admin, MAY("*", "*", ",\"group\":\"*\""), true},
    {&alice, MAY("list", "pods", ""), true},
    {&alice, MAY("create", "pods", ""), true},
    {&alice, MAY("create", "jobs", ",\"group\":\"batch\""), true},
    {&alice, MAY("create", "jobs", ""), false}, /* not in the core group */
    {&alice, MAY("delete", "pods", ""), true},  /* her own */
    {&alice, MAY("delete", "nodes", ""), false},
    {&alice, MAY("create", "pods", ",\"subresource\":\"binding\""), false},
    {&alice, MAY("get", "pods", ",\"subresource\":\"log\""), true},
    {&alice, MAY("get", "pods", ",\"subresource\":\"nonsense\""), false},
    {&alice, MAY("fly", "pods", ""), false},
    {&alice, MAY("list", "unicorns", ""), false},
    {&alice, MAY("*", "pods", ""), true},
    {&alice, MAY("list", "*", ""), true},
    {&alice, MAY("delete", "*", ""), false},
    {&operator_, MAY("patch", "nodes", ""), true},
    {&scheduler_room, MAY("create", "pods", ",\"subresource\":\"binding\""), true},
    {&alice, PATH("/healthz"), true},
    {&alice, PATH("/apis/batch"), true},
    {&alice, PATH("/somewhere"), false},
    {&admin, PATH("/somewhere"), true},
};

START_TEST(rights_are_those_of_the_table)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, questions[i].who, HTTP_POST, ACCESS, questions[i].body);

        ck_assert_int_eq(a.code, 201);
        ck_assert_msg(json_is_true(json_get_path(a.body, "status.allowed"))
                          == questions[i].is_allowed,
                      "%s: %s", questions[i].who->name, questions[i].body);
    }
}
END_TEST

START_TEST(one_of_anothers_pods_is_not_theirs_to_delete)
{
    CLEANUP_WORLD struct world w;
    const char *body = MAY("delete", "pods", ",\"name\":\"p\"");

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, PODS, POD("p")), 201);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_POST, ACCESS, body);
        CLEANUP_ANSWER struct answer b = world_ask(&w, &bob, HTTP_POST, ACCESS, body);

        ck_assert(!json_is_true(json_get_path(a.body, "status.allowed")));
        ck_assert_str_eq(answer_get(&a, "status.reason"), "it belongs to another user");
        ck_assert(json_is_true(json_get_path(b.body, "status.allowed")));
    }
}
END_TEST

START_TEST(a_question_about_nothing_or_two_things_is_422)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, ACCESS, "{\"spec\":{}}"), 422);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, ACCESS,
                                "{\"spec\":{\"resourceAttributes\":{},"
                                "\"nonResourceAttributes\":{}}}"),
                     422);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, RULES, "{}"), 400);
}
END_TEST

START_TEST(a_user_is_told_every_rule_and_an_administrator_the_star)
{
    CLEANUP_WORLD struct world w;
    const char *body = "{\"spec\":{\"namespace\":\"default\"}}";

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_POST, RULES, body);
        CLEANUP_ANSWER struct answer b = world_ask(&w, &admin, HTTP_POST, RULES, body);

        ck_assert_int_eq(a.code, 201);
        ck_assert_ptr_nonnull(strstr(a.text,
                                     "{\"verbs\":[\"get\",\"list\",\"watch\",\"create\","
                                     "\"update\",\"patch\",\"delete\",\"deletecollection\"],"
                                     "\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}"));
        ck_assert_ptr_null(strstr(a.text, "pods/binding"));
        ck_assert_ptr_nonnull(strstr(a.text, "pods/log"));
        ck_assert_uint_eq(json_count(json_get_path(b.body, "status.resourceRules")), 1);
        ck_assert_ptr_nonnull(strstr(b.text, "\"resources\":[\"*\"]"));
    }
}
END_TEST

START_TEST(everybody_learns_who_they_are)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_POST, WHO, "{}");
        CLEANUP_ANSWER struct answer b = world_ask(&w, &agent_n1, HTTP_POST, WHO, "{}");

        ck_assert_int_eq(a.code, 201);
        ck_assert_str_eq(answer_get(&a, "status.userInfo.username"), "alice");
        ck_assert_str_eq(answer_get(&a, "status.userInfo.uid"), "2001");
        ck_assert_str_eq(answer_get(&b, "status.userInfo.username"), "system:node:n1");
    }
}
END_TEST

START_TEST(a_question_is_not_a_thing_to_get)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct route route;

    ck_assert_int_eq(route_find(arena, HTTP_GET, ACCESS, false, &route), ROUTE_NO_METHOD);
    ck_assert_int_eq(route_find(arena, HTTP_GET, ACCESS "/x", false, &route), ROUTE_NO_RESOURCE);
    ck_assert_int_eq(route_find(arena, HTTP_DELETE, ACCESS, false, &route), ROUTE_NO_METHOD);
}
END_TEST

SUITE("self_review", rights_are_those_of_the_table, one_of_anothers_pods_is_not_theirs_to_delete,
      a_question_about_nothing_or_two_things_is_422,
      a_user_is_told_every_rule_and_an_administrator_the_star, everybody_learns_who_they_are,
      a_question_is_not_a_thing_to_get)
