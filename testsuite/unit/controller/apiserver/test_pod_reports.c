/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/pod_reports.h"

#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define REPORT(name, status)                                       \
    "{\"namespace\":\"default\",\"name\":\"" name "\",\"patch\":{" \
    "\"status\":" status "}}"
#define RUNNING       "{\"phase\":\"Running\"}"
#define DONE          "{\"phase\":\"Succeeded\"}"
#define REPORTS(list) "{\"reports\":[" list "]}"
#define BIND(node)    "{\"target\":{\"kind\":\"Node\",\"name\":\"" node "\"}}"

static struct answer
tell_by(struct world *w, const struct principal *who, enum http_method method, const char *body)
{
    const struct http_peer from = {.address = "test"};
    struct request *q = request_new(w->server, arena_new(0));
    struct awaited awaited = {.loop = w->loop};
    struct view view = {.principal = who, .store = w->store, .now_us = w->time.real_us};
    struct answer answer = {0};

    q->principal = who;
    q->method = method;
    q->format = BODY_JSON;
    q->text = body;
    q->length = strlen(body);
    q->done = world_done;
    q->context = &awaited;
    ck_assert(pod_reports_serve(q, "/kiln/v1/podreports", &from));
    while (!awaited.is_here)
        loop_run(w->loop);
    world_read(&answer, q, &view);
    request_free(q);
    return answer;
}

static struct answer
tell(struct world *w, const char *body)
{
    return tell_by(w, &agent_n1, HTTP_POST, body);
}

static const struct json *
answer_of(const struct answer *a, uint32_t i)
{
    return json_at(json_get(a->body, "reports"), i);
}

static int
code_of(const struct answer *a, uint32_t i)
{
    return (int)json_get_int(answer_of(a, i), "code", 0);
}

static void
check_phase(struct world *w, const char *target, const char *phase)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, target, NULL);

    ck_assert_str_eq(answer_get(&a, "status.phase"), phase);
}

static void
make(struct world *w, const char *pod, const char *binding, const char *bind)
{
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, pod), 201);
    ck_assert_int_eq(world_code(w, &scheduler_room, HTTP_POST, binding, bind), 201);
}

/* Pods a and b are on node n1, and c is on n2. */
static void
populate(struct world *w)
{
    world_init(w);
    world_code(w, &admin, HTTP_POST, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n1\"}}");
    world_code(w, &admin, HTTP_POST, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n2\"}}");
    make(w, POD("a"), PODS "/a/binding", BIND("n1"));
    make(w, POD("b"), PODS "/b/binding", BIND("n1"));
    make(w, POD("c"), PODS "/c/binding", BIND("n2"));
}

START_TEST(a_refused_report_of_one_pod_keeps_no_other_back)
{
    CLEANUP_WORLD struct world w;

    populate(&w);
    {
        CLEANUP_ANSWER struct answer a =
            tell(&w, REPORTS(REPORT("a", DONE) "," REPORT("c", DONE) "," REPORT(
                         "none", DONE) ",7,{\"name\":\"a\"}," REPORT("b", RUNNING)));

        ck_assert_msg(a.code == 200, "%s", a.text);
        ck_assert_int_eq(code_of(&a, 0), 200);
        ck_assert_int_eq(code_of(&a, 1), 403);
        ck_assert_int_eq(code_of(&a, 2), 404);
        ck_assert_int_eq(code_of(&a, 3), 400);
        ck_assert_int_eq(code_of(&a, 4), 400);
        ck_assert_int_eq(code_of(&a, 5), 200);
        ck_assert_ptr_null(json_get(answer_of(&a, 0), "message"));
        ck_assert_str_eq(json_get_text(answer_of(&a, 2), "reason"), "NotFound");
        ck_assert_str_eq(json_get_text(answer_of(&a, 2), "message"), "pods \"none\" not found");
    }
    check_phase(&w, PODS "/a", "Succeeded");
    check_phase(&w, PODS "/b", "Running");
    check_phase(&w, PODS "/c", "Pending");
}
END_TEST

START_TEST(two_about_one_pod_are_taken_in_their_order_and_late_ones_refused)
{
    CLEANUP_WORLD struct world w;

    populate(&w);
    for (unsigned i = 0; i < 2; i++) {
        CLEANUP_ANSWER struct answer a =
            tell(&w, REPORTS(REPORT("a", RUNNING) "," REPORT("a", DONE)));

        /* The second time the pod has ended, and cannot run any more. */
        ck_assert_int_eq(code_of(&a, 0), i == 0 ? 200 : 409);
        ck_assert_int_eq(code_of(&a, 1), 200);
    }
    check_phase(&w, PODS "/a", "Succeeded");
}
END_TEST

START_TEST(a_user_can_say_nothing_of_pods)
{
    CLEANUP_WORLD struct world w;

    populate(&w);
    {
        CLEANUP_ANSWER struct answer a = tell_by(&w, &alice, HTTP_POST, REPORTS(REPORT("a", DONE)));

        ck_assert_int_eq(code_of(&a, 0), 403);
    }
    check_phase(&w, PODS "/a", "Pending");
}
END_TEST

START_TEST(a_request_that_is_no_list_is_refused_in_words)
{
    static const char *const bodies[] = {"", "{", "{}", "{\"reports\":{}}", REPORTS("")};
    CLEANUP_WORLD struct world w;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        CLEANUP_ANSWER struct answer a = tell(&w, bodies[i]);

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(
            strstr(a.text, "the body must contain 1 to 64 reports of pods in JSON"));
    }
    {
        CLEANUP_ANSWER struct answer a = tell_by(&w, &agent_n1, HTTP_GET, REPORTS("1"));

        ck_assert_int_eq(a.code, 405);
    }
}
END_TEST

START_TEST(one_request_has_no_more_than_the_loop_takes_in_a_turn)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    CLEANUP_WORLD struct world w;

    world_init(&w);
    strbuf_add_text(&body, "{\"reports\":[1");
    for (unsigned i = 1; i < POD_REPORTS_MOST; i++)
        strbuf_add_text(&body, ",1");
    {
        CLEANUP_STRBUF struct strbuf fits = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf more = STRBUF_INIT;

        strbuf_printf(&fits, "%s]}", body.text);
        strbuf_printf(&more, "%s,1]}", body.text);
        {
            CLEANUP_ANSWER struct answer a = tell(&w, fits.text);
            CLEANUP_ANSWER struct answer b = tell(&w, more.text);

            ck_assert_int_eq(a.code, 200);
            ck_assert_int_eq(b.code, 400);
        }
    }
}
END_TEST

SUITE("pod_reports", a_refused_report_of_one_pod_keeps_no_other_back,
      two_about_one_pod_are_taken_in_their_order_and_late_ones_refused,
      a_user_can_say_nothing_of_pods, a_request_that_is_no_list_is_refused_in_words,
      one_request_has_no_more_than_the_loop_takes_in_a_turn)
