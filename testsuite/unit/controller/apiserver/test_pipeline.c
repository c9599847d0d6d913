/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/pipeline.h"

#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define GOOD   "#!/bin/sh\\n"
#define BROKEN "echo without an interpreter\\n"

/* A stage as JSON, with the dependencies in `waits`. */
#define STAGE(name, script, waits)                                     \
    "{\"name\":\"" name "\",\"job\":{\"metadata\":{\"generateName\":"  \
    "\"job-\"},\"spec\":{\"script\":{\"text\":\"" script "\"},"        \
    "\"dependencies\":{\"jobs\":[" waits "]},\"template\":{\"spec\":{" \
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\"}]}}}}}"
#define AFTER(name)  "{\"type\":\"afterok\",\"stage\":\"" name "\"}"
#define NUMBER(id)   "{\"type\":\"afterok\",\"job\":" id "}"
#define STAGES(list) "{\"stages\":[" list "]}"
#define KEYED(list)  "{\"key\":\"k\",\"stages\":[" list "]}"

static struct answer
submit(struct world *w, const struct principal *who, const char *body)
{
    const struct http_peer from = {.address = "test"};
    struct request *q = request_new(w->server, arena_new(0));
    struct awaited awaited = {.loop = w->loop};
    struct view view = {.principal = who, .store = w->store, .now_us = w->time.real_us};
    struct answer answer = {0};

    q->principal = who;
    q->method = HTTP_POST;
    q->format = BODY_JSON;
    q->text = body;
    q->length = strlen(body);
    q->done = world_done;
    q->context = &awaited;
    ck_assert(pipeline_serve(q, "/kiln/v1/pipelines", &from));
    while (!awaited.is_here)
        loop_run(w->loop);
    world_read(&answer, q, &view);
    request_free(q);
    return answer;
}

static unsigned
count_jobs(struct world *w)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, JOBS, NULL);

    return json_count(json_get(a.body, "items"));
}

static int64_t
waits_for(struct world *w, const char *name)
{
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;

    strbuf_printf(&target, JOBS "/%s", name);
    {
        CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, target.text, NULL);
        const struct json *list = json_get_path(a.body, "spec.dependencies.jobs");

        ck_assert_ptr_nonnull(json_get_text(json_at(list, 0), "uid"));
        ck_assert_ptr_null(strstr(a.text, "\"stage\""));
        return json_get_int(json_at(list, 0), "job", 0);
    }
}

START_TEST(stages_wait_for_the_numbers_that_others_got)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"before\""));
    {
        CLEANUP_ANSWER struct answer a =
            submit(&w, &alice,
                   STAGES(STAGE("prepare", GOOD, NUMBER("1")) "," STAGE(
                       "train", GOOD, AFTER("prepare")) "," STAGE("report", GOOD, AFTER("train"))));
        const struct json *list = json_get(a.body, "stages");

        ck_assert_msg(a.code == 201, "%s", a.text);
        ck_assert_uint_eq(json_count(list), 3);
        ck_assert_str_eq(json_get_text(json_at(list, 2), "name"), "report");
        ck_assert_str_eq(json_get_text(json_at(list, 2), "job"), "job-4");
        ck_assert_int_eq(json_get_int(json_at(list, 2), "id", 0), 4);
        ck_assert_int_eq(waits_for(&w, "job-2"), 1);
        ck_assert_int_eq(waits_for(&w, "job-3"), 2);
        ck_assert_int_eq(waits_for(&w, "job-4"), 3);
    }
}
END_TEST

START_TEST(one_refused_of_five_leaves_none)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a =
            submit(&w, &alice,
                   STAGES(STAGE("a", GOOD, "") "," STAGE("b", GOOD, "") "," STAGE(
                       "c", GOOD, "") "," STAGE("d", BROKEN, AFTER("a")) "," STAGE("e", GOOD, "")));

        ck_assert_int_eq(a.code, 403);
        ck_assert_msg(strncmp(answer_get(&a, "message"), "stage 'd': ", 11) == 0, "%s", a.text);
    }
    ck_assert_uint_eq(count_jobs(&w), 0);
    /* Nor were their numbers consumed. */
    {
        CLEANUP_ANSWER struct answer a = submit(&w, &alice, STAGES(STAGE("a", GOOD, "")));

        ck_assert_int_eq(json_get_int(json_at(json_get(a.body, "stages"), 0), "id", 0), 1);
    }
}
END_TEST

START_TEST(a_stage_that_names_no_earlier_one_is_refused)
{
    static const struct {
        const char *body;
        const char *words;
    } cases[] = {
        {"{", "in JSON"},
        {"[]", "in JSON"},
        {"{\"stages\":{}}", "in JSON"},
        {STAGES(""), "in JSON"},
        {STAGES("7"), "stage 1: expected a name of at most 63"},
        {STAGES("{\"name\":\"a\"}"), "stage 'a': expected a Job"},
        {STAGES(STAGE("a b", GOOD, "")), "stage 1: expected a name of at most 63"},
        {STAGES(STAGE("a", GOOD, "") "," STAGE("a", GOOD, "")), "there are two stages 'a'"},
        {STAGES(STAGE("a", GOOD, AFTER("a"))),
         "stage 'a': it waits for stage 'a', which is not listed before it"},
        {STAGES(STAGE("a", GOOD, AFTER("b")) "," STAGE("b", GOOD, AFTER("a"))),
         "stage 'a': it waits for stage 'b', which is not listed before it"},
        {STAGES(STAGE("a", GOOD, "") "," STAGE("b", GOOD, AFTER("c"))),
         "stage 'b': it waits for stage 'c'"},
        {STAGES(STAGE("a", GOOD, "") "," STAGE("b", GOOD, NUMBER("99"))),
         "stage 'b': jobs.batch is forbidden: Dependencies: "
         "afterok:99: there is no job 99"},
        {STAGES(STAGE("a", GOOD, "{\"type\":\"sometimes\",\"job\":1}")),
         "is not a type of dependency"},
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_ANSWER struct answer a = submit(&w, &alice, cases[i].body);

        ck_assert_msg(a.code >= 400 && a.code < 500, "%s", a.text);
        ck_assert_msg(strstr(a.text, cases[i].words) != NULL, "%s", a.text);
    }
    ck_assert_uint_eq(count_jobs(&w), 0);
}
END_TEST

START_TEST(a_pipeline_sent_again_is_one)
{
    CLEANUP_WORLD struct world w;
    const char *body = KEYED(STAGE("a", GOOD, "") "," STAGE("b", GOOD, AFTER("a")));

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer first = submit(&w, &alice, body);
        CLEANUP_ANSWER struct answer again = submit(&w, &alice, body);
        CLEANUP_ANSWER struct answer other = submit(&w, &alice, KEYED(STAGE("a", GOOD, "")));
        CLEANUP_ANSWER struct answer bobs = submit(&w, &bob, body);

        ck_assert_int_eq(first.code, 201);
        ck_assert_int_eq(again.code, 200);
        ck_assert_str_eq(again.text, first.text);
        ck_assert_int_eq(other.code, 409);
        ck_assert_int_eq(bobs.code, 201);
        ck_assert_uint_eq(count_jobs(&w), 4);
    }
    /* Also when one of its jobs was deleted meanwhile. */
    world_code(&w, &alice, HTTP_DELETE, JOBS "/job-1", NULL);
    {
        CLEANUP_ANSWER struct answer again = submit(&w, &alice, body);
        const struct json *list = json_get(again.body, "stages");

        ck_assert_int_eq(again.code, 200);
        ck_assert_int_eq(json_get_int(json_at(list, 0), "id", 0), 1);
        ck_assert_int_eq(json_get_int(json_at(list, 1), "id", 0), 2);
    }
}
END_TEST

START_TEST(a_dry_run_checks_all_and_creates_none)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a =
            submit(&w, &alice,
                   "{\"dryRun\":true,\"key\":\"k\",\"stages\":[" STAGE("a", GOOD, "") "," STAGE(
                       "b", GOOD, AFTER("a")) "]}");
        CLEANUP_ANSWER struct answer b =
            submit(&w, &alice, "{\"dryRun\":true,\"stages\":[" STAGE("a", BROKEN, "") "]}");

        ck_assert_msg(a.code == 201, "%s", a.text);
        ck_assert_int_eq(b.code, 403);
    }
    ck_assert_uint_eq(count_jobs(&w), 0);
}
END_TEST

START_TEST(all_stages_count_for_a_quota)
{
    CLEANUP_WORLD struct world w;
    const char *five = STAGES(STAGE("a", GOOD, "") "," STAGE("b", GOOD, "") "," STAGE(
        "c", GOOD, "") "," STAGE("d", GOOD, "") "," STAGE("e", GOOD, ""));

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, "/api/v1/namespaces/default/resourcequotas",
                                "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":"
                                "{\"count/jobs.batch\":\"4\"}}}"),
                     201);
    world_code(&w, &admin, HTTP_PATCH, "/api/v1/namespaces/default/resourcequotas/q/status",
               "{\"status\":{\"hard\":{\"count/jobs.batch\":\"4\"},\"used\":"
               "{\"count/jobs.batch\":\"0\"}}}");
    {
        CLEANUP_ANSWER struct answer a = submit(&w, &alice, five);

        ck_assert_int_eq(a.code, 403);
        ck_assert_msg(strstr(a.text, "stage 'e': ") != NULL
                          && strstr(a.text, "exceeded quota: q") != NULL,
                      "%s", a.text);
    }
    ck_assert_uint_eq(count_jobs(&w), 0);
    {
        CLEANUP_ANSWER struct answer a =
            submit(&w, &alice,
                   STAGES(STAGE("a", GOOD, "") "," STAGE("b", GOOD, "") "," STAGE(
                       "c", GOOD, "") "," STAGE("d", GOOD, "")));
        CLEANUP_ANSWER struct answer quota =
            world_ask(&w, &admin, HTTP_GET, "/api/v1/namespaces/default/resourcequotas/q", NULL);

        ck_assert_msg(a.code == 201, "%s", a.text);
        ck_assert_ptr_nonnull(strstr(quota.text, "\"used\":{\"count/jobs.batch\":\"4\"}"));
    }
}
END_TEST

static void
add_stages(struct strbuf *body, unsigned count)
{
    strbuf_add_text(body, "{\"stages\":[");
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(body,
                      "%s{\"name\":\"s%u\",\"job\":{\"metadata\":{"
                      "\"generateName\":\"job-\"},\"spec\":{\"template\":{"
                      "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":"
                      "[{\"name\":\"c\",\"image\":\"host\"}]}}}}}",
                      i > 0 ? "," : "", i);
    strbuf_add_text(body, "]}");
}

START_TEST(stages_are_128_at_the_most)
{
    CLEANUP_STRBUF struct strbuf most = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf more = STRBUF_INIT;
    CLEANUP_WORLD struct world w;

    add_stages(&most, 128);
    add_stages(&more, 129);
    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a = submit(&w, &alice, more.text);

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(strstr(a.text, "a pipeline can have at most 128 stages, not 129"));
        ck_assert_uint_eq(count_jobs(&w), 0);
    }
    {
        CLEANUP_ANSWER struct answer a = submit(&w, &alice, most.text);

        ck_assert_msg(a.code == 201, "%s", a.text);
        ck_assert_uint_eq(count_jobs(&w), 128);
    }
}
END_TEST

START_TEST(other_paths_are_not_pipelines)
{
    const struct http_peer from = {.address = "test"};
    CLEANUP_WORLD struct world w;
    struct request *q;

    world_init(&w);
    q = request_new(w.server, arena_new(0));
    ck_assert(!pipeline_serve(q, "/kiln/v1/pipeline", &from));
    request_free(q);
}
END_TEST

SUITE("pipeline", stages_wait_for_the_numbers_that_others_got, one_refused_of_five_leaves_none,
      a_stage_that_names_no_earlier_one_is_refused, a_pipeline_sent_again_is_one,
      a_dry_run_checks_all_and_creates_none, all_stages_count_for_a_quota,
      stages_are_128_at_the_most, other_paths_are_not_pipelines)
