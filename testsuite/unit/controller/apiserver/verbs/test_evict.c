/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define BUDGET                                                       \
    "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"maxUnavailable\":1," \
    "\"selector\":{}}}"
#define BUDGET_STATUS                                                 \
    "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":1," \
    "\"currentHealthy\":1,\"desiredHealthy\":0,\"expectedPods\":1}}"
#define RUNNING "{\"status\":{\"phase\":\"Running\"}}"

/* A pod that runs on n1, and a budget that allows one disruption. */
static void
begin(struct world *w)
{
    world_init(w);
    world_code(w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(w, &scheduler_room, HTTP_POST, PODS "/a/binding", "{\"target\":{\"name\":\"n1\"}}");
    ck_assert_int_eq(world_code(w, &agent_n1, HTTP_PATCH, PODS "/a/status", RUNNING), 200);
    ck_assert_int_eq(world_code(w, &admin, HTTP_POST, BUDGETS, BUDGET), 201);
    ck_assert_int_eq(world_code(w, &admin, HTTP_PATCH, BUDGETS "/b/status", BUDGET_STATUS), 200);
}

static int64_t
allowed(struct world *w)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, BUDGETS "/b", NULL);

    return json_get_int(json_get(a.body, "status"), "disruptionsAllowed", -1);
}

START_TEST(an_eviction_charges_the_budget_marks_the_pod_and_deletes_it)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS "/a/eviction", "{}"), 201);

    ck_assert_int_eq(allowed(&w), 0);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);
        const struct json *list = json_get_path(a.body, "status.conditions");

        ck_assert_ptr_nonnull(answer_get(&a, "metadata.deletionTimestamp"));
        ck_assert_str_eq(json_get_text(json_at(list, json_count(list) - 1), "type"),
                         "DisruptionTarget");
    }
}
END_TEST

START_TEST(a_budget_that_is_used_up_refuses_it)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    world_code(&w, &admin, HTTP_PATCH, BUDGETS "/b/status",
               "{\"status\":{\"disruptionsAllowed\":0}}");

    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS "/a/eviction", "{}"), 429);
}
END_TEST

START_TEST(nothing_of_an_eviction_is_kept_when_a_later_write_fails)
{
    CLEANUP_WORLD struct world w;
    struct kind spoilt = pod_kind;

    spoilt.stored_as = &pod_kind;
    spoilt.to_stored = world_spoil;
    spoilt.from_stored = json_dup;
    begin(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_put(&w, &(struct question){.who = &admin,
                                             .method = HTTP_POST,
                                             .target = PODS "/a/eviction",
                                             .body = "{}",
                                             .format = BODY_JSON,
                                             .kind = &spoilt});

        ck_assert_int_eq(a.code, 500);
        ck_assert_str_eq(answer_get(&a, "reason"), "InternalError");
    }

    ck_assert_int_eq(allowed(&w), 1);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);

        ck_assert_ptr_null(answer_get(&a, "metadata.deletionTimestamp"));
        ck_assert_uint_eq(json_count(json_get_path(a.body, "status.conditions")), 1);
    }
}
END_TEST

SUITE("evict", an_eviction_charges_the_budget_marks_the_pod_and_deletes_it,
      a_budget_that_is_used_up_refuses_it, nothing_of_an_eviction_is_kept_when_a_later_write_fails)
