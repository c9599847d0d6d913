/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/time_share.h"

#include <time.h>

#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define MS INT64_C(1000)

/* 10 ms in each window of 100 ms. */
static struct time_share
share_of(struct fake_clock *time)
{
    return (struct time_share){
        .clock = &time->clock,
        .most_us = 10 * MS,
        .window_us = 100 * MS,
        .began_us = time->monotonic_us,
    };
}

START_TEST(work_that_began_in_time_may_end_late)
{
    struct fake_clock time = FAKE_CLOCK;
    struct time_share share = share_of(&time);

    time_share_add(&share, 9 * MS);
    ck_assert(time_share_is_open(&share));
    time_share_add(&share, 1 * MS);
    ck_assert(!time_share_is_open(&share));
}
END_TEST

START_TEST(a_share_is_open_again_in_the_next_window)
{
    struct fake_clock time = FAKE_CLOCK;
    struct time_share share = share_of(&time);

    fake_clock_advance(&time, 30 * MS);
    time_share_add(&share, 12 * MS);

    ck_assert_int_eq(time_share_wait_us(&share), 70 * MS);
    fake_clock_advance(&time, 70 * MS - 1);
    ck_assert_int_eq(time_share_wait_us(&share), 1);
    fake_clock_advance(&time, 1);
    ck_assert(time_share_is_open(&share));
}
END_TEST

START_TEST(work_beyond_the_limit_is_owed_by_the_windows_that_follow)
{
    struct fake_clock time = FAKE_CLOCK;
    struct time_share share = share_of(&time);
    int64_t wait_us;

    time_share_add(&share, 35 * MS);
    wait_us = time_share_wait_us(&share);

    ck_assert_int_eq(wait_us, 300 * MS);
    fake_clock_advance(&time, wait_us - 1);
    ck_assert(!time_share_is_open(&share));
    fake_clock_advance(&time, 1);
    ck_assert(time_share_is_open(&share));
}
END_TEST

START_TEST(a_long_rest_is_no_credit)
{
    struct fake_clock time = FAKE_CLOCK;
    struct time_share share = share_of(&time);
    int64_t began_us;

    fake_clock_advance(&time, 3600 * FAKE_SECOND);
    began_us = time_share_begin(&share);
    fake_clock_advance(&time, 10 * MS);
    time_share_end(&share, began_us);

    /* it counts for the window in which it began */
    ck_assert(time_share_is_open(&share));
    time_share_add(&share, 20 * MS);
    ck_assert(!time_share_is_open(&share));
}
END_TEST

START_TEST(work_costs_the_thread_and_waiting_does_not)
{
    int64_t began_us = time_share_thread_cpu_us(), waited_us;

    nanosleep(&(struct timespec){.tv_nsec = 100 * MS * 1000}, NULL);
    waited_us = time_share_thread_cpu_us() - began_us;
    ck_assert_int_lt(waited_us, 50 * MS);
    while (time_share_thread_cpu_us() - began_us < waited_us + 1 * MS)
        ;
}
END_TEST

SUITE("base/time_share", work_that_began_in_time_may_end_late,
      a_share_is_open_again_in_the_next_window,
      work_beyond_the_limit_is_owed_by_the_windows_that_follow, a_long_rest_is_no_credit,
      work_costs_the_thread_and_waiting_does_not)
