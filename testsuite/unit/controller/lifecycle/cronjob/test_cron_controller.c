/* SPDX-License-Identifier: Apache-2.0 */
/* CronJobs with an API that answers when the test lets it. */
#include "controller/lifecycle/cronjob/cron_controller.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define MANY  3000u
#define NOW_S INT64_C(1767226210) /* 2026-01-01T00:10:10Z */

#define SECOND_US INT64_C(1000000)

static struct fake_clock now;
static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct cron_controller *control;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

/* Runs one turn of the loop, with the API's answers so far. */
static void
turn(void)
{
    timer_start(end_of_turn, 0);
    loop_run(loop);
}

static void
settle(void)
{
    for (unsigned i = 0; i < 40; i++) {
        fake_client_run(api);
        turn();
    }
    fake_client_run(api);
}

static void
start(void)
{
    cache = object_cache_new(fake_client_client(api));
    control = cron_controller_new(loop, fake_client_client(api), cache, &now.clock);
    object_cache_start(cache);
}

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    now.real_us = NOW_S * SECOND_US;
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
}

/* With a leak detector, calls end before a kill, because they would be leaks.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FINDS_LEAKS true
#endif
#endif
#ifndef FINDS_LEAKS
#define FINDS_LEAKS false
#endif

/* Like a kill: pending calls are forgotten. */
static void
kill_control(void)
{
    if (FINDS_LEAKS)
        fake_client_run(api);
    fake_client_forget_callers(api);
    cron_controller_free(control);
    object_cache_free(cache);
}

static void
end(void)
{
    kill_control();
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
}

static void
put(unsigned i, const char *spec)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &cron_job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\","
                                 "\"metadata\":{\"name\":\"c%u\",\"namespace\":\"d\","
                                 "\"uid\":\"u%u\",\"creationTimestamp\":"
                                 "\"2026-01-01T00:09:30Z\"},\"spec\":{\"schedule\":"
                                 "\"* * * * *\",\"concurrencyPolicy\":\"Forbid\",%s"
                                 "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":"
                                 "{\"containers\":[{\"name\":\"m\"}]}}}}},"
                                 "\"status\":{}}",
                                 i, i, spec));
}

static unsigned
creates(void)
{
    return fake_client_calls(api, CLIENT_CREATE, NULL);
}

static size_t
jobs(void)
{
    return fake_client_count(api, &job_kind);
}

START_TEST(thousands_that_are_due_are_made_a_few_at_a_time)
{
    unsigned most = 0;

    begin();
    for (unsigned i = 0; i < MANY; i++)
        put(i, "");
    start();
    fake_client_run(api);
    for (unsigned i = 0; fake_client_count(api, &job_kind) < MANY; i++) {
        const unsigned before = (unsigned)fake_client_count(api, &job_kind);
        unsigned made;

        ck_assert_uint_lt(i, 20 * MANY);
        turn();
        fake_client_run(api);
        made = (unsigned)fake_client_count(api, &job_kind) - before;
        most = made > most ? made : most;
    }
    ck_assert_uint_le(most, 64);

    /* No second Job is made, however often they are checked. */
    settle();
    ck_assert_uint_eq(fake_client_count(api, &job_kind), MANY);
    end();
}
END_TEST

START_TEST(one_that_is_held_makes_none_until_it_is_released)
{
    begin();
    put(1, "\"suspend\":true,");
    start();
    settle();
    ck_assert_uint_eq(creates(), 0);

    put(1, "");
    settle();
    ck_assert_uint_eq(fake_client_count(api, &job_kind), 1);
    end();
}
END_TEST

START_TEST(a_kill_between_two_steps_neither_doubles_nor_loses_a_time)
{
    /* After each turn: before the call, before its answer, before the status.
     */
    for (unsigned steps = 0; steps < 12; steps++) {
        begin();
        put(1, "");
        put(2, "\"startingDeadlineSeconds\":60,");
        start();
        for (unsigned i = 0; i < steps; i++) {
            if (i % 2 == 0)
                fake_client_run(api);
            else
                turn();
        }
        kill_control();
        now.real_us += 20 * SECOND_US; /* still in the same minute */
        start();
        settle();
        ck_assert_msg(fake_client_count(api, &job_kind) == 2, "%zu after %u steps",
                      fake_client_count(api, &job_kind), steps);
        ck_assert_ptr_nonnull(fake_client_find(api, &job_kind, "d", "c1-29453770"));
        ck_assert_ptr_nonnull(fake_client_find(api, &job_kind, "d", "c2-29453770"));
        end();
    }
}
END_TEST

/* Then only the status knows that the Job existed. */
START_TEST(a_time_whose_job_is_gone_is_not_made_again_after_a_kill)
{
    begin();
    put(1, "");
    start();
    settle();
    ck_assert_uint_eq(jobs(), 1);

    fake_client_remove(api, &job_kind, "d", "c1-29453770");
    kill_control();
    now.real_us += 20 * SECOND_US;
    start();
    settle();
    ck_assert_uint_eq(jobs(), 0);

    now.real_us += 60 * SECOND_US;
    kill_control();
    start();
    settle();
    ck_assert_uint_eq(jobs(), 1);
    ck_assert_ptr_nonnull(fake_client_find(api, &job_kind, "d", "c1-29453771"));
    end();
}
END_TEST

START_TEST(a_time_that_is_too_late_is_not_made_up_for)
{
    begin();
    put(1, "\"startingDeadlineSeconds\":5,");
    start();
    settle();
    ck_assert_uint_eq(fake_client_count(api, &job_kind), 0);
    end();
}
END_TEST

/* The controller checks the wall clock every few seconds, and waits by another
 * one.
 */
START_TEST(a_clock_that_is_set_ahead_is_noticed)
{
    begin();
    put(1, "");
    start();
    settle();
    fake_client_remove(api, &job_kind, "d", "c1-29453770");
    settle();
    ck_assert_uint_eq(jobs(), 0);

    now.real_us += 3600 * SECOND_US;
    while (jobs() == 0)
        settle();
    ck_assert_uint_eq(jobs(), 1);
    ck_assert_ptr_nonnull(fake_client_find(api, &job_kind, "d", "c1-29453830"));
    end();
}
END_TEST

SUITE("cron_controller", thousands_that_are_due_are_made_a_few_at_a_time,
      one_that_is_held_makes_none_until_it_is_released,
      a_kill_between_two_steps_neither_doubles_nor_loses_a_time,
      a_time_whose_job_is_gone_is_not_made_again_after_a_kill,
      a_time_that_is_too_late_is_not_made_up_for, a_clock_that_is_set_ahead_is_noticed)
