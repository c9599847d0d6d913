/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/reconcile/workqueue.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

struct fixture {
    struct loop *loop;
    struct workqueue *queue;
    struct timer *end;
    unsigned calls;
    unsigned at_once, most_at_once;
    bool keep; /* work is not done when the callback returns */
    unsigned failures;
    char last[64];
};

static void
work(const char *key, void *context)
{
    struct fixture *f = context;

    f->calls++;
    snprintf(f->last, sizeof(f->last), "%s", key);
    if (++f->at_once > f->most_at_once)
        f->most_at_once = f->at_once;
    if (f->keep)
        return;
    f->at_once--;
    if (f->failures > 0) {
        f->failures--;
        workqueue_done(f->queue, key, WORKQUEUE_FAILED);
    } else {
        workqueue_done(f->queue, key, WORKQUEUE_OK);
    }
}

static void
stop(void *context)
{
    struct fixture *f = context;

    loop_stop(f->loop);
}

static void
begin(struct fixture *f, unsigned parallel)
{
    memset(f, 0, sizeof(*f));
    skip_waits();
    f->loop = loop_new();
    f->queue = workqueue_new(f->loop, parallel, work, f);
    f->end = timer_new(f->loop, stop, f);
}

static void
run_for(struct fixture *f, int64_t ms)
{
    timer_start(f->end, ms);
    loop_run(f->loop);
}

static void
finish(struct fixture *f)
{
    timer_free(f->end);
    workqueue_free(f->queue);
    loop_free(f->loop);
}

START_TEST(a_key_added_twice_is_worked_on_once)
{
    struct fixture f;

    begin(&f, 4);
    workqueue_add(f.queue, "a");
    workqueue_add(f.queue, "a");
    run_for(&f, 20);

    ck_assert_uint_eq(f.calls, 1);
    ck_assert_uint_eq(workqueue_count(f.queue), 0);
    finish(&f);
}
END_TEST

START_TEST(a_key_added_while_it_is_worked_on_comes_again)
{
    struct fixture f;

    begin(&f, 4);
    f.keep = true;
    workqueue_add(f.queue, "a");
    run_for(&f, 20);
    workqueue_add(f.queue, "a");
    run_for(&f, 20);
    ck_assert_uint_eq(f.calls, 1);

    workqueue_done(f.queue, "a", WORKQUEUE_OK);
    run_for(&f, 20);

    ck_assert_uint_eq(f.calls, 2);
    finish(&f);
}
END_TEST

START_TEST(no_more_keys_are_under_way_than_allowed)
{
    struct fixture f;

    begin(&f, 2);
    f.keep = true;
    workqueue_add(f.queue, "a");
    workqueue_add(f.queue, "b");
    workqueue_add(f.queue, "c");
    run_for(&f, 20);

    ck_assert_uint_eq(f.most_at_once, 2);
    workqueue_done(f.queue, "a", WORKQUEUE_OK);
    run_for(&f, 20);
    ck_assert_uint_eq(f.calls, 3);
    ck_assert_str_eq(f.last, "c");
    finish(&f);
}
END_TEST

START_TEST(a_key_that_failed_comes_back)
{
    struct fixture f;

    begin(&f, 4);
    f.failures = 1;
    workqueue_add(f.queue, "a");
    run_for(&f, 30);
    ck_assert_uint_eq(f.calls, 1);

    run_for(&f, 400);

    ck_assert_uint_eq(f.calls, 2);
    ck_assert_uint_eq(workqueue_count(f.queue), 0);
    finish(&f);
}
END_TEST

START_TEST(a_key_that_changed_while_its_work_failed_does_not_wait)
{
    struct fixture f;

    begin(&f, 4);
    f.keep = true;
    workqueue_add(f.queue, "a");
    run_for(&f, 5);
    for (int i = 0; i < 8; i++) { /* each wait would be twice the last */
        workqueue_add(f.queue, "a");
        workqueue_done(f.queue, "a", WORKQUEUE_FAILED);
        run_for(&f, 5);
    }

    ck_assert_uint_eq(f.calls, 9);
    finish(&f);
}
END_TEST

START_TEST(the_earliest_of_several_delays_counts)
{
    struct fixture f;

    begin(&f, 4);
    workqueue_add_after(f.queue, "a", 60000);
    workqueue_add_after(f.queue, "a", 10);
    run_for(&f, 200);

    ck_assert_uint_eq(f.calls, 1);
    finish(&f);
}
END_TEST

START_TEST(keys_that_wait_for_the_real_clock_come_when_it_is_set)
{
    struct fake_clock time = FAKE_CLOCK;
    struct fixture f;

    begin(&f, 4);
    workqueue_follow_clock(f.queue, &time.clock);
    workqueue_add_after(f.queue, "a", 3600000);
    fake_clock_advance(&time, 3700 * FAKE_SECOND); /* the test's loop has its own clock */
    run_for(&f, 1100);
    ck_assert_uint_eq(f.calls, 0);

    time.real_us += 7200 * FAKE_SECOND;
    run_for(&f, 1100);
    ck_assert_uint_eq(f.calls, 1);

    workqueue_add_after(f.queue, "b", 3600000);
    time.real_us -= 86400 * FAKE_SECOND;
    run_for(&f, 1100);
    ck_assert_str_eq(f.last, "b");
    ck_assert_uint_eq(workqueue_count(f.queue), 0);
    finish(&f);
}
END_TEST

SUITE("workqueue", keys_that_wait_for_the_real_clock_come_when_it_is_set,
      a_key_added_twice_is_worked_on_once, a_key_added_while_it_is_worked_on_comes_again,
      no_more_keys_are_under_way_than_allowed, a_key_that_failed_comes_back,
      a_key_that_changed_while_its_work_failed_does_not_wait, the_earliest_of_several_delays_counts)
