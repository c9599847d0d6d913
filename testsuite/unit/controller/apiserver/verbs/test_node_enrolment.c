/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "lib/auth/node_secret.h"
#include "testsuite/lib/suite.h"

#define NODES   "/api/v1/nodes"
#define NODE_N1 "{\"metadata\":{\"name\":\"n1\"}}"

START_TEST(a_node_gets_one_secret)
{
    CLEANUP_WORLD struct world w;
    struct digest kept, made;
    struct node_secret secret;

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, NODE_N1);
    {
        CLEANUP_ANSWER struct answer first =
            world_ask(&w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL);
        CLEANUP_ANSWER struct answer again =
            world_ask(&w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL);

        ck_assert_int_eq(first.code, 201);
        ck_assert_int_eq(again.code, 409);
        ck_assert_int_eq(node_secret_parse(answer_get(&first, "secret"), &secret), 0);
    }
    node_secret_verifier(&secret, &made);
    ck_assert(apiserver_find_verifier("n1", &kept, w.store));
    ck_assert(digest_equals(&kept, &made));
    ck_assert(!apiserver_find_verifier("n2", &kept, w.store));
}
END_TEST

START_TEST(an_administrator_lets_a_node_enrol_again)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, NODE_N1);
    world_code(&w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL);

    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_POST, NODES "/n1/reset", NULL), 403);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, NODES "/n1/reset", NULL), 200);
    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL), 201);
}
END_TEST

START_TEST(a_node_made_again_has_no_secret_of_the_old)
{
    CLEANUP_WORLD struct world w;
    struct digest digest;

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, NODE_N1);
    world_code(&w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL);

    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, NODES "/n1", NULL), 200);

    ck_assert(!apiserver_find_verifier("n1", &digest, w.store));
}
END_TEST

START_TEST(a_node_to_be_approved_takes_nothing_before)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.must_approve_nodes = true;
    {
        CLEANUP_ANSWER struct answer made = world_ask(&w, &machine_root, HTTP_POST, NODES, NODE_N1);
        CLEANUP_ANSWER struct answer refused =
            world_ask(&w, &operator_, HTTP_POST, NODES "/n1/approve", NULL);
        CLEANUP_ANSWER struct answer approved =
            world_ask(&w, &admin, HTTP_POST, NODES "/n1/approve", NULL);

        ck_assert_ptr_nonnull(strstr(made.text, "kiln.hpc/not-approved"));
        ck_assert_int_eq(refused.code, 403);
        ck_assert_int_eq(approved.code, 200);
        ck_assert_ptr_null(strstr(approved.text, "kiln.hpc/not-approved"));
    }
}
END_TEST

START_TEST(a_rootless_agent_enrols_only_where_and_what_it_may)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE_N1), 403);
    w.policy.allows_rootless_agents = true;
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE_N1), 403);
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1-bob\"}}"), 403);
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1-alice\"}}"), 201);

    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, NODES "/n1-alice/enrol", NULL), 403);
    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_POST, NODES "/n1-alice/enrol", NULL), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES "/n1-alice/enrol", NULL), 201);
}
END_TEST

SUITE("node_enrolment", a_node_gets_one_secret, an_administrator_lets_a_node_enrol_again,
      a_node_made_again_has_no_secret_of_the_old, a_node_to_be_approved_takes_nothing_before,
      a_rootless_agent_enrols_only_where_and_what_it_may)
