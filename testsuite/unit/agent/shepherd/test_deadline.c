/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/deadline.h"

#include <check.h>

#include "testsuite/lib/suite.h"

#define S INT64_C(1000000)

static const struct deadline running = {
    .started_us = 100 * S,
    .limit_us = DEADLINE_NEVER,
    .grace_us = 30 * S,
    .delete_us = DEADLINE_NEVER,
    .delete_grace_us = DEADLINE_NEVER,
};

/* Does all due actions, and returns when to ask again. */
static int64_t
act(struct deadline *d, int64_t now, unsigned *ret_warned, unsigned *ret_done)
{
    int64_t next;

    for (;;) {
        switch (deadline_next(d, now, &next)) {
        case DEADLINE_WARN:
            d->warned = true;
            (*ret_warned)++;
            break;
        case DEADLINE_TERMINATE:
            d->terminated = true;
            *ret_done |= 1;
            break;
        case DEADLINE_KILL:
            d->terminated = d->killed = true;
            *ret_done |= 2;
            break;
        case DEADLINE_WAIT:
            return next;
        }
    }
}

START_TEST(a_pod_without_limits_is_left_alone)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    ck_assert_int_eq(act(&d, 1000000 * S, &warned, &done), DEADLINE_NEVER);
    ck_assert_uint_eq(done, 0);
}
END_TEST

START_TEST(a_limit_warns_terminates_and_kills_in_that_order)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    d.warn_us = 10 * S;

    ck_assert_int_eq(act(&d, 100 * S, &warned, &done), 150 * S);
    ck_assert_int_eq(act(&d, 150 * S, &warned, &done), 160 * S);
    ck_assert_uint_eq(warned, 1);
    ck_assert_uint_eq(done, 0);
    ck_assert_int_eq(act(&d, 160 * S, &warned, &done), 190 * S);
    ck_assert_uint_eq(done, 1);
    ck_assert(deadline_is_exceeded(&d, 160 * S));
    ck_assert_int_eq(act(&d, 190 * S, &warned, &done), DEADLINE_NEVER);
    ck_assert_uint_eq(done, 3);
}
END_TEST

START_TEST(a_deletion_before_the_limit_is_not_an_exceeded_limit)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    d.delete_us = 120 * S;
    d.delete_grace_us = 5 * S;

    ck_assert_int_eq(act(&d, 120 * S, &warned, &done), 125 * S);
    ck_assert_uint_eq(done, 1);
    ck_assert(!deadline_is_exceeded(&d, 125 * S));
    act(&d, 125 * S, &warned, &done);
    ck_assert_uint_eq(done, 3);
}
END_TEST

START_TEST(an_agent_that_comes_late_kills_what_is_overdue)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    d.warn_us = 10 * S;

    ck_assert_int_eq(act(&d, 1000 * S, &warned, &done), DEADLINE_NEVER);
    ck_assert_uint_eq(warned, 0);
    ck_assert_uint_eq(done, 2);
}
END_TEST

START_TEST(a_deletion_without_grace_kills_at_once)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.delete_us = 110 * S;
    d.delete_grace_us = 0;

    act(&d, 110 * S, &warned, &done);
    ck_assert_uint_eq(done, 2);
}
END_TEST

START_TEST(another_limit_takes_the_place_of_the_one_before)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    d.warn_us = 10 * S;
    act(&d, 155 * S, &warned, &done);
    ck_assert_uint_eq(warned, 1);

    deadline_set_limit(&d, 120 * S, 155 * S);
    ck_assert_int_eq(act(&d, 170 * S, &warned, &done), 210 * S);
    ck_assert_uint_eq(done, 0);
    act(&d, 210 * S, &warned, &done);
    ck_assert_uint_eq(warned, 2);

    deadline_set_limit(&d, DEADLINE_NEVER, 211 * S);
    ck_assert_int_eq(act(&d, 10000 * S, &warned, &done), DEADLINE_NEVER);
}
END_TEST

START_TEST(a_suspended_job_comes_no_nearer_to_its_limit)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    d.warn_us = 10 * S;
    deadline_freeze(&d, 120 * S);
    deadline_freeze(&d, 130 * S);
    ck_assert_int_eq(act(&d, 10000 * S, &warned, &done), DEADLINE_NEVER);
    ck_assert_uint_eq(warned, 0);
    ck_assert_int_eq(deadline_thaw(&d, 10020 * S), 9900 * S);
    ck_assert_int_eq(deadline_thaw(&d, 10030 * S), 0);
    ck_assert_int_eq(act(&d, 10030 * S, &warned, &done), 10050 * S);
    ck_assert_int_eq(act(&d, 10050 * S, &warned, &done), 10060 * S);
    ck_assert_int_eq(act(&d, 10060 * S, &warned, &done), 10090 * S);
    ck_assert_uint_eq(warned, 1);
    ck_assert_uint_eq(done, 1);
}
END_TEST

START_TEST(a_limit_that_is_lowered_meanwhile_is_due_once_it_goes_on)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    deadline_freeze(&d, 120 * S);
    deadline_set_limit(&d, 10 * S, 500 * S);
    ck_assert_int_eq(act(&d, 500 * S, &warned, &done), DEADLINE_NEVER);
    deadline_thaw(&d, 520 * S);
    act(&d, 520 * S, &warned, &done);
    ck_assert_uint_eq(done, 1);
}
END_TEST

START_TEST(a_suspended_job_is_deleted_all_the_same)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 60 * S;
    deadline_freeze(&d, 110 * S);
    d.delete_us = 120 * S;
    d.delete_grace_us = 5 * S;
    act(&d, 125 * S, &warned, &done);
    ck_assert_uint_eq(done, 2);
}
END_TEST

START_TEST(a_limit_that_has_passed_gives_its_grace_from_now_on)
{
    struct deadline d = running;
    unsigned warned = 0, done = 0;

    d.limit_us = 1000 * S;
    deadline_set_limit(&d, 5 * S, 300 * S);
    ck_assert_int_eq(act(&d, 300 * S, &warned, &done), 300 * S + d.grace_us);
    ck_assert_uint_eq(done, 1);
    ck_assert(deadline_is_exceeded(&d, 300 * S));

    deadline_set_limit(&d, 1000 * S, 301 * S);
    act(&d, 300 * S + d.grace_us, &warned, &done);
    ck_assert_uint_eq(done, 3);
}
END_TEST

SUITE("deadline", a_pod_without_limits_is_left_alone,
      a_limit_warns_terminates_and_kills_in_that_order,
      a_deletion_before_the_limit_is_not_an_exceeded_limit,
      an_agent_that_comes_late_kills_what_is_overdue, a_deletion_without_grace_kills_at_once,
      another_limit_takes_the_place_of_the_one_before, a_suspended_job_comes_no_nearer_to_its_limit,
      a_limit_that_is_lowered_meanwhile_is_due_once_it_goes_on,
      a_suspended_job_is_deleted_all_the_same, a_limit_that_has_passed_gives_its_grace_from_now_on)
