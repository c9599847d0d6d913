/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/summary/summary.h"

#include <check.h>
#include <string.h>

#include "controller/apiserver/request/server.h"
#include "controller/history/history.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

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

static void
scene_init(struct scene *s)
{
    world_init(&s->world);
    s->history = history_new(&(struct history_settings){
        .loop = s->world.loop,
        .clock = &s->world.time.clock,
        .store = s->world.store,
        .directory = s->world.directory,
    });
    s->world.server->history = s->history;
    s->look = timer_new(s->world.loop, look, s);
    timer_start(s->look, 0);
    while (!is_open(s))
        loop_run(s->world.loop);
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

static void
begin(struct scene *s, const struct principal *who, const struct parameter *parameters,
      size_t count, struct asked *asked)
{
    *asked = (struct asked){
        .q = request_new(s->world.server, arena_new(0)),
        .awaited = {.loop = s->world.loop},
    };
    asked->q->method = HTTP_GET;
    asked->q->principal = who;
    asked->q->done = world_done;
    asked->q->context = &asked->awaited;
    summary_history(asked->q, "/kiln/v1/history", parameters, count);
}

START_TEST(one_who_asks_too_much_at_once_is_told_to_wait)
{
    struct asked first, second, third, other;
    struct scene s;

    scene_init(&s);
    begin(&s, &alice, NULL, 0, &first);
    begin(&s, &alice, NULL, 0, &second);
    begin(&s, &alice, NULL, 0, &third);
    begin(&s, &bob, NULL, 0, &other);
    {
        CLEANUP_ANSWER struct answer a = world_wait(&s.world, &first);
        CLEANUP_ANSWER struct answer b = world_wait(&s.world, &second);
        CLEANUP_ANSWER struct answer c = world_wait(&s.world, &third);
        CLEANUP_ANSWER struct answer d = world_wait(&s.world, &other);

        ck_assert_int_eq(a.code, 200);
        ck_assert_int_eq(b.code, 200);
        ck_assert_int_eq(c.code, 429);
        ck_assert_str_eq(answer_get(&c, "reason"), "TooManyRequests");
        ck_assert_ptr_nonnull(strstr(answer_get(&c, "message"), "wait for"));
        ck_assert_int_eq(d.code, 200);
    }
    begin(&s, &alice, NULL, 0, &first);
    {
        CLEANUP_ANSWER struct answer a = world_wait(&s.world, &first);

        ck_assert_int_eq(a.code, 200);
    }
    scene_fini(&s);
}
END_TEST

START_TEST(a_wrong_question_names_its_parameter)
{
    static const struct {
        struct parameter parameter;
        const char *words;
    } wrong[] = {
        {{"fields", "job,stat"}, "fields: 'stat'"},
        {{"state", "Runs"}, "state: 'Runs'"},
        {{"limit", "-1"}, "limit: '-1'"},
        {{"colour", "red"}, "'colour' is not a parameter"},
    };
    struct scene s;

    scene_init(&s);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct asked asked;

        begin(&s, &alice, &wrong[i].parameter, 1, &asked);
        CLEANUP_ANSWER struct answer a = world_wait(&s.world, &asked);

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"), wrong[i].words));
    }
    scene_fini(&s);
}
END_TEST

SUITE("summary_history", one_who_asks_too_much_at_once_is_told_to_wait,
      a_wrong_question_names_its_parameter)
