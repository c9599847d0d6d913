/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/responder.h"

#include "controller/apiserver/request/server.h"
#include "lib/client/client.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define MS  INT64_C(1000)
#define WHY PODS "/p/why"

/* A client on the same loop, whose answers take some time. */
struct scholar {
    struct world *world;
    int64_t takes_us;
    unsigned n_answered;
};

static int
respond(const struct client_question *question, struct arena *arena, struct json **ret_answer,
        void *context)
{
    struct scholar *s = context;

    (void)question;
    s->n_answered++;
    fake_clock_advance(&s->world->time, s->takes_us);
    *ret_answer = json_object(arena);
    json_set_string(arena, *ret_answer, "state", "Waiting");
    return 0;
}

static void
ask(struct world *w, const struct principal *who, struct asked *asked)
{
    *asked = (struct asked){0};
    world_begin(
        w, &(struct question){.who = who, .method = HTTP_GET, .target = WHY, .format = BODY_JSON},
        asked);
}

static int
code_of(struct world *w, struct asked *asked)
{
    CLEANUP_ANSWER struct answer a = world_wait(w, asked);

    return a.code;
}

static void
add_pod(struct world *w)
{
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, POD("p")), 201);
}

/* Other callbacks stop the same loop. */
struct pause {
    struct loop *loop;
    bool is_over;
};

static void
end_pause(void *arg)
{
    struct pause *pause = arg;

    pause->is_over = true;
    loop_stop(pause->loop);
}

static void
run_for_ms(struct world *w, int64_t ms)
{
    struct pause pause = {.loop = w->loop};
    CLEANUP(timer_freep)
    struct timer *timer = timer_new(w->loop, end_pause, &pause);

    timer_start(timer, ms);
    while (!pause.is_over)
        loop_run(w->loop);
}

START_TEST(questions_are_asked_one_by_one_and_have_a_share_of_the_time)
{
    CLEANUP_WORLD struct world w;
    struct scholar scholar = {.world = &w, .takes_us = 12 * MS};
    struct responder *responder;
    struct asked asked[3];

    world_init(&w);
    add_pod(&w);
    responder = responder_new(w.server->responders, w.loop, respond, &scholar);
    loop_drain(w.loop);
    for (unsigned i = 0; i < 3; i++)
        ask(&w, &alice, &asked[i]);

    run_for_ms(&w, 150);
    ck_assert_uint_eq(scholar.n_answered, 1);
    fake_clock_advance(&w.time, 100 * MS);
    run_for_ms(&w, 150);
    ck_assert_uint_eq(scholar.n_answered, 2);
    fake_clock_advance(&w.time, 100 * MS);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(code_of(&w, &asked[i]), 200);
    responder_close(responder);
}
END_TEST

START_TEST(quick_answers_do_not_wait)
{
    CLEANUP_WORLD struct world w;
    struct scholar scholar = {.world = &w, .takes_us = 1 * MS};
    struct responder *responder;
    struct asked asked[8];

    world_init(&w);
    add_pod(&w);
    responder = responder_new(w.server->responders, w.loop, respond, &scholar);
    loop_drain(w.loop);
    for (unsigned i = 0; i < 8; i++)
        ask(&w, &alice, &asked[i]);
    loop_drain(w.loop);

    ck_assert_uint_eq(scholar.n_answered, 8);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(code_of(&w, &asked[i]), 200);
    responder_close(responder);
}
END_TEST

START_TEST(one_user_has_eight_that_wait_and_others_still_ask)
{
    CLEANUP_WORLD struct world w;
    struct scholar scholar = {.world = &w, .takes_us = 1 * MS};
    struct responder *responder;
    struct asked asked[8], more, other;
    struct answer refused;

    world_init(&w);
    add_pod(&w);
    responder = responder_new(w.server->responders, w.loop, respond, &scholar);
    loop_drain(w.loop);
    for (unsigned i = 0; i < 8; i++)
        ask(&w, &alice, &asked[i]);
    ask(&w, &alice, &more);
    ask(&w, &operator_, &other);

    refused = world_wait(&w, &more);
    ck_assert_int_eq(refused.code, 429);
    ck_assert_ptr_nonnull(strstr(refused.text, "user 'alice' already waits for 8 answers"));
    ck_assert_int_eq(json_get_int(json_get(refused.body, "details"), "retryAfterSeconds", 0), 1);
    answer_fini(&refused);
    ck_assert_int_eq(code_of(&w, &other), 200);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(code_of(&w, &asked[i]), 200);
    ask(&w, &alice, &more);
    ck_assert_int_eq(code_of(&w, &more), 200);
    responder_close(responder);
}
END_TEST

START_TEST(those_that_wait_fail_when_nobody_answers_any_more)
{
    CLEANUP_WORLD struct world w;
    struct scholar scholar = {.world = &w, .takes_us = 12 * MS};
    struct responder *responder;
    struct asked asked[3];

    world_init(&w);
    add_pod(&w);
    responder = responder_new(w.server->responders, w.loop, respond, &scholar);
    loop_drain(w.loop);
    for (unsigned i = 0; i < 3; i++)
        ask(&w, &alice, &asked[i]);
    loop_drain(w.loop);
    responder_close(responder);

    ck_assert_int_eq(code_of(&w, &asked[0]), 200);
    ck_assert_int_eq(code_of(&w, &asked[1]), 503);
    ck_assert_int_eq(code_of(&w, &asked[2]), 503);
    ck_assert_uint_eq(scholar.n_answered, 1);
}
END_TEST

/* The first responder's loop never handles the request that was passed to it.
 */
START_TEST(another_answers_when_the_one_that_was_asked_is_gone)
{
    CLEANUP_WORLD struct world w;
    struct scholar scholar = {.world = &w};
    struct loop *dead = loop_new();
    struct responder *first, *second;
    struct asked asked[2];

    world_init(&w);
    add_pod(&w);
    first = responder_new(w.server->responders, dead, respond, &scholar);
    loop_drain(w.loop);
    ask(&w, &alice, &asked[0]);
    loop_drain(w.loop);
    responder_close(first);
    second = responder_new(w.server->responders, w.loop, respond, &scholar);
    loop_drain(w.loop);
    ask(&w, &alice, &asked[1]);

    ck_assert_int_eq(code_of(&w, &asked[1]), 200);
    loop_drain(dead);
    ck_assert_int_eq(code_of(&w, &asked[0]), 503);
    responder_close(second);
    loop_free(dead);
}
END_TEST

SUITE("apiserver/responder", questions_are_asked_one_by_one_and_have_a_share_of_the_time,
      quick_answers_do_not_wait, one_user_has_eight_that_wait_and_others_still_ask,
      those_that_wait_fail_when_nobody_answers_any_more,
      another_answers_when_the_one_that_was_asked_is_gone)
