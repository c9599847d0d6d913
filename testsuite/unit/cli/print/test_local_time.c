/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/local_time.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)

/* 2026-11-23 09:15:34 UTC */
#define NOW (INT64_C(1795425334) * SECOND)

static void
live_in(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

START_TEST(times_are_those_of_the_users_zone)
{
    char text[LOCAL_TIME_SIZE];

    live_in("UTC0");
    local_time_format(NOW, text);
    ck_assert_str_eq(text, "2026-11-23 09:15:34");

    live_in("XXX-5:30");
    local_time_format(NOW, text);
    ck_assert_str_eq(text, "2026-11-23 14:45:34");
}
END_TEST

START_TEST(a_brief_time_leaves_out_the_parts_that_are_as_now)
{
    char text[LOCAL_TIME_SIZE];

    live_in("UTC0");
    local_time_format_brief(NOW - 3600 * SECOND, NOW, text);
    ck_assert_str_eq(text, "08:15:34");
    local_time_format_brief(NOW - 10 * 3600 * SECOND, NOW, text);
    ck_assert_str_eq(text, "Nov 22 23:15");
    local_time_format_brief(NOW - INT64_C(400) * 86400 * SECOND, NOW, text);
    ck_assert_str_eq(text, "2025-10-19");
}
END_TEST

SUITE("local_time", times_are_those_of_the_users_zone,
      a_brief_time_leaves_out_the_parts_that_are_as_now)
