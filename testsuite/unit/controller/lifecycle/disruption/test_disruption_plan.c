/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/disruption/disruption_plan.h"

#include <check.h>
#include <stdio.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

/* 2026-01-01T00:10:00Z */
#define NOW_US INT64_C(1767226200000000)

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s", err.text);
    return object;
}

static const struct object *
make_budget(const char *spec, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
                  "\"metadata\":{\"name\":\"b\",\"namespace\":\"d\",\"generation\":1},"
                  "\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}%s},"
                  "\"status\":{%s}}",
                  spec, status);

    return parse(&pod_disruption_budget_kind, text);
}

static const struct object *
make_pod(const char *name, bool is_ready)
{
    CLEANUP_FREE char *text = xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                                        "{\"name\":\"%s\",\"namespace\":\"d\",\"labels\":{\"a\":"
                                        "\"b\"}},\"spec\":{\"nodeName\":\"n\"},\"status\":{"
                                        "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
                                        "\"status\":\"%s\"}]}}",
                                        name, is_ready ? "True" : "False");

    return parse(&pod_kind, text);
}

static void
add_pods(struct disruption_counts *t, unsigned healthy, unsigned unhealthy,
         const struct object *job)
{
    for (unsigned i = 0; i < healthy + unhealthy; i++) {
        CLEANUP_FREE char *name = xasprintf("p%u", i);
        const struct object *pod = make_pod(name, i < healthy);

        disruption_counts_add(t, pod, job);
        object_unref(pod);
    }
}

START_TEST(allowed_disruptions_follow_upstreams_arithmetic)
{
    static const struct {
        const char *spec;
        unsigned healthy, unhealthy;
        int64_t expected, desired, allowed;
    } cases[] = {
        {",\"minAvailable\":2", 3, 0, 3, 2, 1},
        {",\"minAvailable\":2", 2, 1, 3, 2, 0},
        {",\"minAvailable\":5", 3, 0, 3, 5, 0},
        {",\"minAvailable\":0", 3, 0, 3, 0, 3},
        {",\"minAvailable\":\"50%\"", 3, 0, 3, 2, 1},
        {",\"minAvailable\":\"100%\"", 3, 0, 3, 3, 0},
        {",\"maxUnavailable\":1", 3, 0, 3, 2, 1},
        {",\"maxUnavailable\":1", 2, 1, 3, 2, 0},
        {",\"maxUnavailable\":5", 3, 0, 3, 0, 3},
        {",\"maxUnavailable\":\"50%\"", 3, 0, 3, 1, 2},
        {",\"minAvailable\":1", 0, 0, 0, 1, 0},
        {"", 2, 0, 2, 1, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *budget = make_budget(cases[i].spec, "");
        struct disruption_counts *t = disruption_counts_new(budget, NOW_US);
        const struct json *status;
        int64_t wake_us;

        add_pods(t, cases[i].healthy, cases[i].unhealthy, NULL);
        status = json_get(disruption_plan(t, arena, &wake_us), "status");

        ck_assert_int_eq(json_get_int(status, "expectedPods", -1), cases[i].expected);
        ck_assert_int_eq(json_get_int(status, "desiredHealthy", -1), cases[i].desired);
        ck_assert_int_eq(json_get_int(status, "currentHealthy", -1), cases[i].healthy);
        ck_assert_msg(json_get_int(status, "disruptionsAllowed", -1) == cases[i].allowed,
                      "case %zu", i);
        ck_assert_int_eq(json_get_int(status, "observedGeneration", -1), 1);
        disruption_counts_free(t);
        object_unref(budget);
    }
}
END_TEST

START_TEST(a_job_stands_for_what_it_runs_at_a_time)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *budget = make_budget(",\"maxUnavailable\":1", "");
    const struct object *job =
        parse(&job_kind, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
                         "\"name\":\"j\",\"namespace\":\"d\"},\"spec\":{\"parallelism\":"
                         "8,\"completions\":10},\"status\":{\"succeeded\":5}}");
    struct disruption_counts *t = disruption_counts_new(budget, NOW_US);
    const struct json *status;
    int64_t wake_us;

    add_pods(t, 3, 0, job);
    status = json_get(disruption_plan(t, arena, &wake_us), "status");

    ck_assert_int_eq(json_get_int(status, "expectedPods", -1), 5);
    ck_assert_int_eq(json_get_int(status, "desiredHealthy", -1), 4);
    ck_assert_int_eq(json_get_int(status, "disruptionsAllowed", -1), 0);
    disruption_counts_free(t);
    object_unref(job);
    object_unref(budget);
}
END_TEST

START_TEST(an_eviction_that_was_granted_counts_until_it_shows_or_expires)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *budget = make_budget(
        ",\"minAvailable\":1", "\"disruptedPods\":{\"p0\":\"2026-01-01T00:09:00Z\",\"p1\":"
                               "\"2026-01-01T00:07:00Z\"}");
    struct disruption_counts *t = disruption_counts_new(budget, NOW_US);
    const struct json *status, *disrupted;
    int64_t wake_us;

    add_pods(t, 3, 0, NULL);
    status = json_get(disruption_plan(t, arena, &wake_us), "status");
    disrupted = json_get(status, "disruptedPods");

    ck_assert_int_eq(json_get_int(status, "currentHealthy", -1), 2);
    ck_assert_int_eq(json_get_int(status, "disruptionsAllowed", -1), 1);
    ck_assert_str_eq(json_get_text(disrupted, "p0"), "2026-01-01T00:09:00Z");
    ck_assert(json_is(json_get(disrupted, "p1"), JSON_NULL));
    ck_assert_int_eq(wake_us, NOW_US + 60000000);
    disruption_counts_free(t);
    object_unref(budget);
}
END_TEST

START_TEST(a_correct_status_is_not_written_again)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *budget =
        make_budget(",\"minAvailable\":1", "\"observedGeneration\":1,\"disruptionsAllowed\":2,"
                                           "\"currentHealthy\":3,\"desiredHealthy\":1,"
                                           "\"expectedPods\":3");
    struct disruption_counts *t = disruption_counts_new(budget, NOW_US);
    int64_t wake_us;

    add_pods(t, 3, 0, NULL);
    ck_assert_ptr_null(disruption_plan(t, arena, &wake_us));
    disruption_counts_free(t);
    object_unref(budget);
}
END_TEST

START_TEST(a_budget_selects_by_label_within_its_namespace)
{
    const struct object *budget = make_budget(",\"minAvailable\":1", "");
    const struct object *pod = make_pod("p", true);
    const struct object *stranger =
        parse(&pod_kind, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                         "\"p\",\"namespace\":\"e\",\"labels\":{\"a\":\"b\"}}}");

    ck_assert(disruption_selects(budget, pod));
    ck_assert(!disruption_selects(budget, stranger));
    object_unref(budget);
    object_unref(pod);
    object_unref(stranger);
}
END_TEST

SUITE("disruption plan", allowed_disruptions_follow_upstreams_arithmetic,
      a_job_stands_for_what_it_runs_at_a_time,
      an_eviction_that_was_granted_counts_until_it_shows_or_expires,
      a_correct_status_is_not_written_again, a_budget_selects_by_label_within_its_namespace)
