/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod_times.h"

#include <check.h>

#include "lib/api/pod/pod.h"
#include "testsuite/lib/suite.h"

static int64_t limit_s;

static struct pod
pod_with_limit(int64_t seconds)
{
    struct pod pod = {0};

    limit_s = seconds;
    pod.spec.active_deadline_seconds = &limit_s;
    return pod;
}

START_TEST(the_end_is_the_start_and_the_limit_and_the_suspended_time)
{
    struct pod pod = pod_with_limit(60);

    pod.status.start_at_us = 1000;
    pod.status.frozen_us = 7;
    ck_assert_int_eq(pod_expected_end_us(&pod, 5000), 1000 + 60000000 + 7);
    ck_assert_int_eq(pod_limit_end_us(&pod, 2000, 3), 2000 + 60000000 + 3);
}
END_TEST

START_TEST(a_pod_that_has_not_begun_would_begin_now)
{
    struct pod pod = pod_with_limit(60);

    ck_assert_int_eq(pod_began_us(&pod, 5000), 5000);
    ck_assert_int_eq(pod_expected_end_us(&pod, 5000), 5000 + 60000000);
}
END_TEST

START_TEST(without_a_limit_there_is_no_end)
{
    struct pod pod = {0};

    ck_assert_int_eq(pod_limit_us(&pod), INT64_MAX);
    ck_assert_int_eq(pod_expected_end_us(&pod, 5000), INT64_MAX);
}
END_TEST

START_TEST(no_limit_overflows)
{
    struct pod pod = pod_with_limit(INT64_MAX);

    ck_assert_int_eq(pod_limit_us(&pod), INT64_MAX);
    pod = pod_with_limit(INT64_MAX / 1000000);
    ck_assert_int_lt(pod_limit_us(&pod), INT64_MAX);
    pod.status.start_at_us = INT64_MAX / 2;
    ck_assert_int_eq(pod_expected_end_us(&pod, 5000), INT64_MAX);
}
END_TEST

SUITE("pod_times", the_end_is_the_start_and_the_limit_and_the_suspended_time,
      a_pod_that_has_not_begun_would_begin_now, without_a_limit_there_is_no_end, no_limit_overflows)
