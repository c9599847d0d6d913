/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_questions.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

#define OF_ALL 32

struct answers {
    struct loop *loop;
    unsigned wanted, count, failures;
};

static void
answered(const char *text, UNUSED size_t length, UNUSED const struct error *err, void *context)
{
    struct answers *a = context;

    a->failures += text == NULL;
    if (++a->count == a->wanted)
        loop_stop(a->loop);
}

static int
ask_as(struct history_questions *questions, struct history_question *q, int64_t uid,
       struct answers *a, struct error *err)
{
    *q = (struct history_question){.rights = {.uid = uid}, .limit = 10};
    return history_questions_ask(questions, q, answered, a, err);
}

START_TEST(a_user_who_asks_too_much_is_refused_and_others_are_not)
{
    struct history_question first, second, third, others;
    struct history_questions *questions;
    struct answers a = {.loop = loop_new(), .wanted = 3};
    struct error err = {0};
    struct place p;

    place_init(&p);
    questions = history_questions_new(a.loop, p.path);
    ck_assert_int_eq(ask_as(questions, &first, 1000, &a, NULL), 0);
    ck_assert_int_eq(ask_as(questions, &second, 1000, &a, NULL), 0);

    ck_assert_int_eq(ask_as(questions, &third, 1000, &a, &err), -EAGAIN);

    ck_assert_ptr_nonnull(strstr(err.text, "wait for them"));
    ck_assert_int_eq(ask_as(questions, &others, 1001, &a, NULL), 0);
    loop_run(a.loop);
    ck_assert_uint_eq(a.count, 3);
    ck_assert_uint_eq(a.failures, 0);

    a = (struct answers){.loop = a.loop, .wanted = 1};
    ck_assert_int_eq(ask_as(questions, &third, 1000, &a, NULL), 0);
    loop_run(a.loop);
    ck_assert_uint_eq(a.failures, 0);

    history_questions_stop(questions);
    history_questions_free(questions);
    loop_free(a.loop);
    place_fini(&p);
}
END_TEST

START_TEST(all_together_have_a_bound_too)
{
    struct history_question q[OF_ALL + 1];
    struct history_questions *questions;
    struct answers a = {.loop = loop_new(), .wanted = OF_ALL};
    struct error err = {0};
    struct place p;

    place_init(&p);
    questions = history_questions_new(a.loop, p.path);
    for (int i = 0; i < OF_ALL; i++)
        ck_assert_int_eq(ask_as(questions, &q[i], 1000 + i, &a, NULL), 0);

    ck_assert_int_eq(ask_as(questions, &q[OF_ALL], 5000, &a, &err), -EAGAIN);

    ck_assert_ptr_nonnull(strstr(err.text, "too many"));
    loop_run(a.loop);
    ck_assert_uint_eq(a.count, OF_ALL);
    ck_assert_uint_eq(a.failures, 0);

    history_questions_stop(questions);
    history_questions_free(questions);
    loop_free(a.loop);
    place_fini(&p);
}
END_TEST

SUITE("history_questions", a_user_who_asks_too_much_is_refused_and_others_are_not,
      all_together_have_a_bound_too)
