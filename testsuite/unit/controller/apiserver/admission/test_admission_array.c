/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define ARRAY(array, more)                                                   \
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"array\":{" array "}" more    \
    ",\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{" \
    "\"name\":\"main\",\"image\":\"host\",\"command\":[\"/bin/true\"]}]}}}}"

#define ONE(tasks)       "{\"type\":\"afterok\",\"job\":1,\"tasks\":\"" tasks "\"}"
#define AFTER(tasks)     "\"dependencies\":{\"jobs\":[" ONE(tasks) "]},"
#define AFTER_BOTH(a, b) "\"dependencies\":{\"jobs\":[" ONE(a) "," ONE(b) "]},"
#define TEMPLATE                                                                     \
    "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":" \
    "\"main\",\"image\":\"host\",\"command\":[\"/bin/true\"]}]}}}}"

static void
refused(struct world *w, enum http_method method, const char *path, const char *body, int code,
        const char *words)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, method, path, body);

    ck_assert_msg(a.code == code, "%d: %s", a.code, answer_get(&a, "message"));
    ck_assert_msg(strstr(answer_get(&a, "message"), words) != NULL, "%s",
                  answer_get(&a, "message"));
}

static void
taken(struct world *w, enum http_method method, const char *path, const char *body)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, method, path, body);

    ck_assert_msg(a.code < 300, "%s", answer_get(&a, "message"));
}

static void
has(struct world *w, const char *path, const char *value)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, JOBS "/a", NULL);

    ck_assert_str_eq(answer_get(&a, path), value);
}

START_TEST(fields_that_follow_from_an_array_are_filled_in)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"9-12,5,3,1-1\"", ""));
    has(&w, "spec.array.tasks", "1-5:2,9-12");
    has(&w, "spec.completionMode", "Indexed");
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"throttle\":2}}}"),
        200);
}
END_TEST

START_TEST(an_array_is_not_bound_by_upstreams_ceilings)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.maximum_array_size = 1000001;
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-999999\"", ""));
    refused(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"5,1000001\"", ""), 403,
            "task 1000001 is larger than the largest task id that the site "
            "allows, 1000000 (limits.maximumArraySize minus one)");
}
END_TEST

START_TEST(a_field_that_contradicts_an_array_is_refused)
{
    static const struct {
        const char *array, *words;
    } cases[] = {
        {ARRAY("\"tasks\":\"0-9\"", ",\"completions\":9"),
         "spec.completions: Invalid value: 9: must be 10"},
        {ARRAY("\"tasks\":\"0-9\"", ",\"parallelism\":9"),
         "spec.parallelism: Invalid value: 9: must be 10"},
        {ARRAY("\"tasks\":\"0-9\",\"throttle\":3", ",\"parallelism\":9"),
         "must be 3, as implied by spec.array.throttle"},
        {ARRAY("\"tasks\":\"0-9\"", ",\"completionMode\":\"NonIndexed\""), "spec.completionMode"},
        {ARRAY("\"tasks\":\"9-0\"", ""), "spec.array.tasks: Invalid value"},
        {ARRAY("\"tasks\":\"\"", ""), "spec.array.tasks: Required value"},
        {ARRAY("\"tasks\":\"0-9\",\"held\":\"7-12\"", ""), "10 is not one of the array's tasks"},
        {ARRAY("\"tasks\":\"0-9\",\"throttle\":-1", ""), "spec.array.throttle"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_WORLD struct world w;

        world_init(&w);
        refused(&w, HTTP_POST, JOBS, cases[i].array, 422, cases[i].words);
    }
}
END_TEST

START_TEST(a_throttle_changes_and_takes_parallelism_along)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-9\",\"throttle\":4", ""));
    taken(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"throttle\":0}}}");
    taken(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"parallelism\":6,\"array\":{\"throttle\":6}}}");
    taken(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"throttle\":null}}}");
    refused(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"parallelism\":4}}", 422,
            "must be 10, as implied by spec.array.tasks");
}
END_TEST

START_TEST(an_array_stays_one_of_the_same_tasks)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-9\"", ""));
    refused(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"tasks\":\"0-8\"}}}", 422,
            "spec.array.tasks");
    refused(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":null}}", 422,
            "a Job is made a job array when it is created, and cannot change that");
    has(&w, "spec.array.tasks", "0-9");
    taken(&w, HTTP_PATCH, JOBS "/a",
          "{\"spec\":{\"array\":{\"cancelled\":\"3,2\",\"held\":\"5-7\"}}}");
    has(&w, "spec.array.cancelled", "2-3");
    taken(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"held\":null}}}");
    refused(&w, HTTP_PATCH, JOBS "/a", "{\"spec\":{\"array\":{\"cancelled\":\"2\"}}}", 422,
            "task 3 was cancelled, and cannot be restored");
}
END_TEST

START_TEST(a_client_that_does_not_know_arrays_leaves_them)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-9\"", ""));
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, JOBS "/a", NULL);
        CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

        json_remove(json_get(a.body, "spec"), "array");
        json_print(a.body, &body);
        taken(&w, HTTP_PUT, JOBS "/a", body.text);
    }
    has(&w, "spec.array.tasks", "0-9");
}
END_TEST

START_TEST(upstream_has_no_arrays)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.server->profile = &api_profile_conformance;
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-9\"", ""));
    has(&w, "spec.completionMode", "NonIndexed");
}
END_TEST

/* With more tasks, the job controller judges the job. */
START_TEST(only_so_many_tasks_are_looked_up_among_the_failed)
{
    static const struct principal controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.limits.maximum_array_size = 100000;
    taken(&w, HTTP_POST, JOBS, ARRAY("\"tasks\":\"0-19999\"", ""));
    ck_assert_int_eq(world_code(&w, &controller, HTTP_PATCH, JOBS "/a/status",
                                "{\"status\":{\"failedIndexes\":\"19999\"}}"),
                     200);

    refused(&w, HTTP_POST, JOBS,
            "{\"metadata\":{\"name\":\"b\"},\"spec\":{" AFTER("19990-19999") TEMPLATE, 403,
            "afterok:1_[19990-19999] can never be met: job 1_19999 has failed");
    taken(&w, HTTP_POST, JOBS,
          "{\"metadata\":{\"name\":\"b\"},\"spec\":{" AFTER_BOTH("0-9995", "19990-19999") TEMPLATE);
}
END_TEST

SUITE("admission_array", fields_that_follow_from_an_array_are_filled_in,
      an_array_is_not_bound_by_upstreams_ceilings, a_field_that_contradicts_an_array_is_refused,
      a_throttle_changes_and_takes_parallelism_along, an_array_stays_one_of_the_same_tasks,
      a_client_that_does_not_know_arrays_leaves_them, upstream_has_no_arrays,
      only_so_many_tasks_are_looked_up_among_the_failed)
