/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "lib/auth/exec_grant.h"
#include "testsuite/lib/suite.h"

#define NODES   "/api/v1/nodes"
#define GRANT   PODS "/a/exec-grant"
#define RUNNING "{\"status\":{\"phase\":\"Running\"}}"
#define KEY     "0900000000000000000000000000000000000000000000000000000000000000"
#define BODY    "{\"key\":\"" KEY "\"}"

/* Alice's pod runs on n1. */
static void
begin(struct world *w)
{
    world_init(w);
    world_code(w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    ck_assert_int_eq(world_code(w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL), 201);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, POD("a")), 201);
    ck_assert_int_eq(world_code(w, &scheduler_room, HTTP_POST, PODS "/a/binding",
                                "{\"target\":{\"name\":\"n1\"}}"),
                     201);
    ck_assert_int_eq(world_code(w, &agent_n1, HTTP_PATCH, PODS "/a/status", RUNNING), 200);
}

/* What the agent of n1 makes of the n-th grant. */
static int
accept(struct world *w, const struct answer *a, uint32_t n, struct step_caller *caller)
{
    const char *word = json_text(json_at(json_get(a->body, "grants"), n));
    struct exec_receiver receiver = {
        .cluster = "test", .node = "n1", .now_ms = w->time.real_us / 1000 + 500};
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    ck_assert_ptr_nonnull(word);
    ck_assert(apiserver_find_verifier("n1", &receiver.verifier, w->store));
    strbuf_printf(&line, "kiln-exec-grant 1 %s", word);
    return exec_caller_accept(&receiver, line.text, caller, NULL);
}

START_TEST(an_administrator_gets_grants_for_the_owner_of_the_pod)
{
    CLEANUP_WORLD struct world w;
    struct step_caller one = {0}, two = {0};

    begin(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &admin, HTTP_POST, GRANT, "{\"key\":\"" KEY "\",\"count\":2}");
        CLEANUP_ANSWER struct answer pod = world_ask(&w, &admin, HTTP_GET, PODS "/a", NULL);

        ck_assert_int_eq(a.code, 201);
        ck_assert_str_eq(answer_get(&a, "kind"), "ExecGrant");
        ck_assert_str_eq(answer_get(&a, "node"), "n1");
        ck_assert_uint_eq(strlen(answer_get(&a, "nodeKey")), 64);
        ck_assert_uint_eq(json_count(json_get(a.body, "grants")), 2);
        ck_assert_int_eq(accept(&w, &a, 0, &one), 0);
        ck_assert_int_eq(accept(&w, &a, 1, &two), 0);
        ck_assert_uint_eq(one.uid, alice.uid);
        ck_assert_str_eq(one.by, "root");
        ck_assert_str_eq(one.pod, answer_get(&pod, "metadata.uid"));
        ck_assert_str_ne(one.nonce, two.nonce);
    }
    step_caller_fini(&one);
    step_caller_fini(&two);
}
END_TEST

START_TEST(an_impersonating_user_is_named)
{
    CLEANUP_WORLD struct world w;
    struct principal as_alice = alice;
    struct step_caller caller = {0};

    as_alice.impersonator = &admin;
    begin(&w);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &as_alice, HTTP_POST, GRANT, BODY);

        ck_assert_int_eq(a.code, 201);
        ck_assert_int_eq(accept(&w, &a, 0, &caller), 0);
        ck_assert_str_eq(caller.by, "root as alice");
    }
    step_caller_fini(&caller);
}
END_TEST

START_TEST(only_the_owner_and_administrators_get_them)
{
    static const struct {
        const struct principal *who;
        int code;
    } cases[] = {{&alice, 201},        {&admin, 201},    {&bob, 403},           {&operator_, 403},
                 {&machine_root, 403}, {&agent_n1, 403}, {&scheduler_room, 403}};
    CLEANUP_WORLD struct world w;

    begin(&w);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_ANSWER struct answer a = world_ask(&w, cases[i].who, HTTP_POST, GRANT, BODY);

        ck_assert_msg(a.code == cases[i].code, "%zu: %d %s", i, a.code, a.text);
        ck_assert((json_get(a.body, "grants") != NULL) == (cases[i].code == 201));
    }
}
END_TEST

START_TEST(wrong_questions_are_refused)
{
    static const struct {
        const char *target, *body, *words;
        int code;
    } cases[] = {
        {GRANT, "{}", "'key' must be", 400},
        {GRANT, "{\"key\":\"0\"}", "'key' must be", 400},
        {GRANT, "{\"key\":7}", "'key' must be", 400},
        {GRANT, "{\"key\":\"" KEY "\",\"count\":0}", "from 1 to 16", 400},
        {GRANT, "{\"key\":\"" KEY "\",\"count\":17}", "from 1 to 16", 400},
        {GRANT "?dryRun=All", BODY, "dry run", 400},
        {PODS "/b/exec-grant", BODY, "not found", 404},
    };
    CLEANUP_WORLD struct world w;

    begin(&w);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &admin, HTTP_POST, cases[i].target, cases[i].body);

        ck_assert_msg(a.code == cases[i].code && strstr(a.text, cases[i].words) != NULL,
                      "%zu: %d %s", i, a.code, a.text);
    }
}
END_TEST

START_TEST(a_pod_that_does_not_run_has_none)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("b")), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS "/b/exec-grant", BODY), 409);
    world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status", "{\"status\":{\"phase\":\"Failed\"}}");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, GRANT, BODY), 409);
}
END_TEST

START_TEST(nor_has_one_that_ends)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a", NULL), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, GRANT, BODY), 409);
}
END_TEST

START_TEST(a_node_without_a_secret_has_none)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, NODES "/n1/reset", NULL), 200);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_POST, GRANT, BODY);

        ck_assert_int_eq(a.code, 409);
        ck_assert_ptr_nonnull(strstr(a.text, "has no secret"));
    }
}
END_TEST

START_TEST(nobody_gets_the_rights_of_root)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    w.policy.minimum_uid = 0;
    w.policy.allows_root_jobs = true;
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS, POD("b")), 201);
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/b/binding", "{\"target\":{\"name\":\"n1\"}}");
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, PODS "/b/status", RUNNING), 200);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &admin, HTTP_POST, PODS "/b/exec-grant", BODY);

        ck_assert_int_eq(a.code, 409);
        ck_assert_ptr_nonnull(strstr(a.text, "runs as root"));
    }
}
END_TEST

SUITE("exec_grants", an_administrator_gets_grants_for_the_owner_of_the_pod,
      an_impersonating_user_is_named, only_the_owner_and_administrators_get_them,
      wrong_questions_are_refused, a_pod_that_does_not_run_has_none, nor_has_one_that_ends,
      a_node_without_a_secret_has_none, nobody_gets_the_rights_of_root)
