/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/backoff.h"

#include <check.h>

#include "testsuite/lib/suite.h"

START_TEST(each_delay_is_twice_the_last_up_to_the_limit)
{
    static const int64_t expected[] = {100, 200, 400, 700, 700};
    int64_t delay = 0;

    for (unsigned i = 0; i < 5; i++) {
        delay = backoff_next(delay, 100, 700);
        ck_assert_int_eq(delay, expected[i]);
        ck_assert_int_eq(backoff_after(i + 1, 100, 700), expected[i]);
    }
}
END_TEST

START_TEST(before_the_first_attempt_there_is_no_delay)
{
    ck_assert_int_eq(backoff_after(0, 100, 700), 0);
    ck_assert_int_eq(backoff_after(-1, 100, 700), 0);
}
END_TEST

START_TEST(no_number_of_attempts_overflows)
{
    ck_assert_int_eq(backoff_after(INT64_MAX, 1, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(backoff_next(INT64_MAX - 1, 1, INT64_MAX), INT64_MAX);
}
END_TEST

/* As upstream's queue, which takes any maxPodBackoff. */
START_TEST(a_first_delay_above_the_limit_is_kept_after_one_attempt)
{
    ck_assert_int_eq(backoff_after(1, 900, 700), 900);
    ck_assert_int_eq(backoff_after(2, 900, 700), 700);
}
END_TEST

START_TEST(a_share_of_the_time_waited_lies_between_the_limits)
{
    ck_assert_int_eq(backoff_share(0, 12, 100, 2000), 100);
    ck_assert_int_eq(backoff_share(1200, 12, 100, 2000), 100);
    ck_assert_int_eq(backoff_share(12000, 12, 100, 2000), 1000);
    ck_assert_int_eq(backoff_share(INT64_MAX, 1, 100, 2000), 2000);
}
END_TEST

SUITE("backoff", each_delay_is_twice_the_last_up_to_the_limit,
      before_the_first_attempt_there_is_no_delay, no_number_of_attempts_overflows,
      a_first_delay_above_the_limit_is_kept_after_one_attempt,
      a_share_of_the_time_waited_lies_between_the_limits)
