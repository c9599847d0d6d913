/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>
#include <time.h>

#include "lib/base/macro.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

START_TEST(every_day_is_the_c_librarys)
{
    for (int64_t day = -200000; day < 1000000; day += 37) {
        time_t at = (time_t)(day * 86400 + 3661);
        char ours[TIME_TEXT_SIZE], theirs[TIME_TEXT_SIZE];
        struct tm tm;
        int64_t back;

        gmtime_r(&at, &tm);
        strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%SZ", &tm);
        time_format((int64_t)at * 1000000, false, ours);

        ck_assert_str_eq(ours, theirs);
        ck_assert_int_eq(time_parse(ours, &back), 0);
        ck_assert_int_eq(back, (int64_t)at * 1000000);
    }
}
END_TEST

START_TEST(the_first_and_the_last_time_are_those_of_four_digits)
{
    char text[TIME_TEXT_SIZE];
    int64_t us;

    ck_assert_int_eq(time_parse("0000-01-01T00:00:00Z", &us), 0);
    time_format(us, true, text);
    ck_assert_str_eq(text, "0000-01-01T00:00:00.000000Z");
    time_format(us - 1, true, text);
    ck_assert_str_eq(text, "0000-01-01T00:00:00.000000Z");
    ck_assert_int_lt(time_parse("0000-01-01T00:00:00+00:01", &us), 0);

    ck_assert_int_eq(time_parse("9999-12-31T23:59:59.999999Z", &us), 0);
    time_format(us + 1, true, text);
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999999Z");
    ck_assert_int_lt(time_parse("9999-12-31T23:59:59-00:01", &us), 0);
}
END_TEST

START_TEST(a_wrong_time_is_refused)
{
    static const char *const bad[] = {
        "",
        "2026",
        "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00z",
        "2026-01-01T00:00:00Z ",
        "2026-01-01T00:00:00+24:00",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t us = 42;

        ck_assert_msg(time_parse(bad[i], &us) < 0, "%s", bad[i]);
        ck_assert_int_eq(us, 42);
    }
}
END_TEST

SUITE("time", every_day_is_the_c_librarys, the_first_and_the_last_time_are_those_of_four_digits,
      a_wrong_time_is_refused)
