/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/history/history.h"
#include "lib/api/cluster/step_record.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define NODES "/api/v1/nodes"
#define STEPS NODES "/n1/steps"

static const struct principal agent_n2 = {
    .type = PRINCIPAL_AGENT, .name = "root", .groups = no_groups, .n_groups = 1, .node = "n2"};

struct scene {
    struct world world;
    struct history *history;
    struct timer *look;
};

static bool
is_open(const struct scene *s)
{
    struct history_status status;

    history_status(s->history, &status);
    return status.is_open;
}

static void
look(void *arg)
{
    struct scene *s = arg;

    if (is_open(s))
        loop_stop(s->world.loop);
    else
        timer_start(s->look, 5);
}

/* Pod a is on n1, pod b waits. */
static void
scene_init(struct scene *s)
{
    struct world *w = &s->world;

    world_init(w);
    s->history = history_new(&(struct history_settings){
        .loop = w->loop,
        .clock = &w->time.clock,
        .store = w->store,
        .directory = w->directory,
    });
    w->server->history = s->history;
    world_code(w, &admin, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    world_code(w, &admin, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n2\"}}");
    world_code(w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(w, &alice, HTTP_POST, PODS, POD("b"));
    ck_assert_int_eq(world_code(w, &scheduler_room, HTTP_POST, PODS "/a/binding",
                                "{\"target\":{\"name\":\"n1\"},\"allocation\":{\"cpus\":"
                                "\"0\",\"memoryNodes\":\"0\"}}"),
                     201);
    s->look = timer_new(w->loop, look, s);
    timer_start(s->look, 0);
    while (!is_open(s))
        loop_run(w->loop);
}

static void
scene_fini(struct scene *s)
{
    timer_free(s->look);
    history_stop(s->history);
    s->world.server->history = NULL;
    world_fini(&s->world);
    history_free(s->history);
}

static char *
uid_of(struct world *w, const char *pod)
{
    CLEANUP_FREE char *path = xasprintf(PODS "/%s", pod);
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, path, NULL);

    return xstrdup(answer_get(&a, "metadata.uid"));
}

#define STEP                                                                           \
    "{\"step\":0,\"state\":\"Running\",\"startTime\":\"2026-01-01T00:00:00.000000Z\"," \
    "\"observedTime\":\"2026-01-01T00:00:00.000000Z\"}"

/* The code of the pod's part of the answer; the code of the whole if that is refused. */
static int64_t
tell(struct scene *s, const struct principal *who, const char *pod, const char *uid,
     const char *step)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"pods\":[{\"namespace\":\"default\",\"pod\":\"%s\",\"podUid\":\"%s\","
                  "\"user\":\"bob\",\"uid\":1,\"job\":9,\"steps\":[%s]}]}",
                  pod, uid, step);
    CLEANUP_ANSWER struct answer a = world_ask(&s->world, who, HTTP_POST, STEPS, body);

    return a.code != 200 ? a.code : json_get_int(json_at(json_get(a.body, "pods"), 0), "code", 0);
}

START_TEST(an_agent_tells_the_steps_of_pods_of_its_node_alone)
{
    struct scene s;
    char *a, *b;

    scene_init(&s);
    a = uid_of(&s.world, "a");
    b = uid_of(&s.world, "b");

    ck_assert_int_eq(tell(&s, &agent_n1, "a", a, STEP), 200);
    ck_assert_int_eq(tell(&s, &agent_n1, "a", a, STEP), 200); /* once more */
    ck_assert_int_eq(tell(&s, &agent_n1, "b", b, STEP), 403); /* it has no node */
    ck_assert_int_eq(tell(&s, &agent_n1, "a", b, STEP), 404); /* that uid never ran here */
    ck_assert_int_eq(tell(&s, &agent_n2, "a", a, STEP), 403);
    ck_assert_int_eq(tell(&s, &alice, "a", a, STEP), 403);
    ck_assert_int_eq(tell(&s, &bob, "a", a, STEP), 403);
    free(a);
    free(b);
    scene_fini(&s);
}
END_TEST

START_TEST(records_that_no_step_can_have_are_refused)
{
    static const char *const bad[] = {
        "{\"step\":-1,\"state\":\"Running\"}",
        "{\"step\":10000,\"state\":\"Running\"}",
        "{\"step\":0,\"state\":\"Nonsense\"}",
        "{\"step\":0,\"state\":\"Completed\"}", /* without an end */
        "{\"step\":0,\"state\":\"Running\",\"exitCode\":256}",
        "{\"step\":0,\"state\":\"Running\",\"cpuUserMicros\":-5}",
    };
    struct scene s;
    char *a;

    scene_init(&s);
    a = uid_of(&s.world, "a");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(tell(&s, &agent_n1, "a", a, bad[i]), 422);
    ck_assert_int_eq(tell(&s, &agent_n1, "a", a, "{\"step\":0,\"newer\":1,\"state\":\"Running\"}"),
                     200);
    free(a);
    scene_fini(&s);
}
END_TEST

/* The answer to a question for steps. */
static struct answer
ask_with(struct scene *s, const struct parameter *parameters, size_t count)
{
    struct asked asked = {
        .q = request_new(s->world.server, arena_new(0)),
        .awaited = {.loop = s->world.loop},
    };

    asked.q->method = HTTP_GET;
    asked.q->principal = &alice;
    asked.q->done = world_done;
    asked.q->context = &asked.awaited;
    summary_history(asked.q, "/kiln/v1/steps", parameters, count);
    return world_wait(&s->world, &asked);
}

static struct answer
ask_steps(struct scene *s, const char *name, const char *value)
{
    const struct parameter parameter = {name, value};

    return ask_with(s, &parameter, 1);
}

/* Each list is allowed alone, so the question's only fault is its limit. */
START_TEST(of_two_lists_of_jobs_the_last_one_counts)
{
    CLEANUP_STRBUF struct strbuf jobs = STRBUF_INIT;
    struct scene s;

    scene_init(&s);
    for (int i = 1; i <= 150; i++)
        strbuf_printf(&jobs, "%s%d", i > 1 ? "," : "", i);
    {
        const struct parameter twice[] = {
            {"job", jobs.text}, {"job", jobs.text}, {"limit", "none"}};
        CLEANUP_ANSWER struct answer a = ask_with(&s, twice, ARRAY_SIZE(twice));

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"), "limit: 'none'"));
    }
    scene_fini(&s);
}
END_TEST

START_TEST(questions_that_cannot_be_answered_are_refused_with_their_name)
{
    static const struct {
        const char *name, *value, *words;
    } wrong[] = {
        {"job", "x", "job: 'x'"},          {"job", "-1", "job: '-1'"},
        {"limit", "10", "job: give the"},  {"continue", "1.2", "continue: '1.2'"},
        {"running", "maybe", "running: "}, {"user", "bob", "'user' is not a parameter"},
    };
    struct scene s;

    scene_init(&s);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        CLEANUP_ANSWER struct answer a = ask_steps(&s, wrong[i].name, wrong[i].value);

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"), wrong[i].words));
    }
    scene_fini(&s);
}
END_TEST

START_TEST(a_report_is_bounded)
{
    CLEANUP_STRBUF struct strbuf steps = STRBUF_INIT;
    struct scene s;
    char *a;

    scene_init(&s);
    a = uid_of(&s.world, "a");
    for (int i = 0; i < STEP_REPORT_STEPS_MOST; i++)
        strbuf_printf(&steps, "%s{\"step\":%d,\"state\":\"Running\"}", i > 0 ? "," : "", i);
    ck_assert_int_eq(tell(&s, &agent_n1, "a", a, steps.text), 200);
    strbuf_add_text(&steps, ",{\"step\":7,\"state\":\"Running\"}");
    ck_assert_int_eq(tell(&s, &agent_n1, "a", a, steps.text), 400);
    free(a);
    scene_fini(&s);
}
END_TEST

SUITE("step_reports", an_agent_tells_the_steps_of_pods_of_its_node_alone,
      records_that_no_step_can_have_are_refused, of_two_lists_of_jobs_the_last_one_counts,
      questions_that_cannot_be_answered_are_refused_with_their_name, a_report_is_bounded)
