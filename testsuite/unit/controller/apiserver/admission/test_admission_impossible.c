/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define NODES  "/api/v1/nodes"
#define QUOTAS "/api/v1/namespaces/default/resourcequotas"
#define CRONS  "/apis/batch/v1/namespaces/default/cronjobs"

#define NODE(name, cpus) \
    "{\"metadata\":{\"name\":\"" name "\"},\"status\":{\"allocatable\":{\"cpu\":\"" cpus "\"}}}"
#define TEMPLATE(cpus)                                                               \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":" \
    "\"main\",\"image\":\"host\",\"resources\":{\"requests\":{\"cpu\":\"" cpus "\"}}}]}}"
#define BIG(name, cpus)                                                                    \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"script\":{\"text\":\"#!/bin/sh\"}," \
    "\"backoffLimit\":0," TEMPLATE(cpus) "}}"
#define CPUS(cpus) "{\"spec\":{" TEMPLATE(cpus) "}}"

static const char too_big[] = "the job can never run: no node has 40 CPUs; the nearest, n1, has 4 "
                              "CPUs";

static struct answer
submit(struct world *w, const char *body)
{
    return world_ask(w, &alice, HTTP_POST, JOBS, body);
}

static void
add_node(struct world *w, const char *body)
{
    ck_assert_int_eq(world_code(w, &admin, HTTP_POST, NODES, body), 201);
}

START_TEST(a_job_that_no_node_could_run_is_accepted_with_a_warning)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer none = {0}, small = {0}, big = {0}, later = {0};

    world_init(&w);
    none = submit(&w, BIG("a", "40"));
    add_node(&w, NODE("n1", "4"));
    small = submit(&w, BIG("b", "4"));
    big = submit(&w, BIG("c", "40"));
    add_node(&w, NODE("n2", "40"));
    later = submit(&w, BIG("d", "40"));

    ck_assert_int_eq(none.code, 201);
    ck_assert_uint_eq(none.n_warnings, 0); /* nodes may come */
    ck_assert_uint_eq(small.n_warnings, 0);
    ck_assert_int_eq(big.code, 201);
    ck_assert_uint_eq(big.n_warnings, 1);
    ck_assert_str_eq(big.warning, too_big);
    ck_assert_uint_eq(later.n_warnings, 0);
}
END_TEST

START_TEST(a_site_refuses_such_a_job_or_says_nothing)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer refused = {0}, accepted = {0}, conformant = {0};

    world_init(&w);
    add_node(&w, NODE("n1", "4"));
    w.policy.impossible = IMPOSSIBLE_REFUSE;
    refused = submit(&w, BIG("a", "40"));
    w.policy.impossible = IMPOSSIBLE_ACCEPT;
    accepted = submit(&w, BIG("a", "40"));
    w.policy.impossible = IMPOSSIBLE_REFUSE;
    w.server->profile = &api_profile_conformance;
    conformant = submit(&w, BIG("b", "40"));

    ck_assert_int_eq(refused.code, 403);
    ck_assert_ptr_nonnull(strstr(answer_get(&refused, "message"),
                                 "Impossible: no node has 40 CPUs; the nearest, n1, has 4 CPUs"));
    ck_assert_int_eq(accepted.code, 201);
    ck_assert_uint_eq(accepted.n_warnings, 0);
    ck_assert_msg(conformant.code == 201, "%s", conformant.text);
    ck_assert_uint_eq(conformant.n_warnings, 0);
}
END_TEST

START_TEST(an_update_is_judged_only_if_it_changes_what_the_job_asks_for)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer larger = {0}, label = {0};

    world_init(&w);
    add_node(&w, NODE("n1", "4"));
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, BIG("a", "4")), 201);
    larger = world_ask(&w, &alice, HTTP_PATCH, JOBS "/a", CPUS("40"));
    w.policy.impossible = IMPOSSIBLE_REFUSE;
    label =
        world_ask(&w, &alice, HTTP_PATCH, JOBS "/a", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");

    ck_assert_int_eq(larger.code, 200);
    ck_assert_uint_eq(larger.n_warnings, 1);
    ck_assert_str_eq(larger.warning, too_big);
    ck_assert_int_eq(label.code, 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/a", CPUS("41")), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/a", CPUS("3")), 200);
}
END_TEST

START_TEST(a_job_that_exceeds_an_empty_quota_can_never_run_either)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer fits = {0}, exceeds = {0}, cron = {0};

    world_init(&w);
    add_node(&w, NODE("n1", "4"));
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, QUOTAS,
                                "{\"metadata\":{\"name\":\"few\"},\"spec\":{\"hard\":{\"requests."
                                "cpu\":\"2\"}}}"),
                     201);
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_PATCH, QUOTAS "/few/status",
                   "{\"status\":{\"hard\":{\"requests.cpu\":\"2\"},\"used\":{\"requests."
                   "cpu\":\"2\"}}}"),
        200);
    fits = submit(&w, BIG("a", "2")); /* it waits until others end */
    exceeds = submit(&w, BIG("b", "3"));
    cron = world_ask(&w, &alice, HTTP_POST, CRONS,
                     "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"schedule\":\"0 0 * * *\","
                     "\"jobTemplate\":{\"spec\":{" TEMPLATE("3") "}}}}");

    ck_assert_msg(fits.n_warnings == 0, "%s", fits.warning);
    ck_assert_int_eq(exceeds.code, 201);
    ck_assert_uint_eq(exceeds.n_warnings, 1);
    ck_assert_str_eq(exceeds.warning,
                     "the job can never run: quota few: 3 CPUs wanted, it has 2 in all");
    ck_assert_uint_eq(cron.n_warnings, 1);
    ck_assert_str_eq(cron.warning,
                     "its jobs can never run: quota few: 3 CPUs wanted, it has 2 in all");
}
END_TEST

SUITE("admission_impossible", a_job_that_no_node_could_run_is_accepted_with_a_warning,
      a_site_refuses_such_a_job_or_says_nothing,
      an_update_is_judged_only_if_it_changes_what_the_job_asks_for,
      a_job_that_exceeds_an_empty_quota_can_never_run_either)
