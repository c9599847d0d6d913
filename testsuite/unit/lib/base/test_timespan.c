/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/timespan.h"

#include <errno.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(timespans_are_read_with_their_units)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"0", 0},
        {"0s", 0},
        {"10s", 10000000},
        {"500ms", 500000},
        {"250us", 250},
        {"3\xc2\xb5s", 3},
        {"1.5s", 1500000},
        {".5s", 500000},
        {"1.s", 1000000},
        {"0.000001s", 1},
        {"0.5ms", 500},
        {"1.5h", 5400000000},
        {"1h30m", 5400000000},
        {"7d", 604800000000},
        {"1d2h3m4s5ms6us", 93784005006},
        {"1.123456789s", 1123456},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t us = -1;

        ck_assert_msg(timespan_parse(cases[i].text, &us) == 0, "'%s'", cases[i].text);
        ck_assert_int_eq(us, cases[i].us);
    }
}
END_TEST

START_TEST(nonsense_is_refused_and_leaves_the_result_alone)
{
    static const char *const cases[] = {
        "",      "10",    "s",  "10 s",  "-1s",  "+1s",  "1e3s", "10x",
        "10sec", "1h 2m", ".s", "1..5s", "1,5s", "10s!", "00",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t us = 7;

        ck_assert_msg(timespan_parse(cases[i], &us) == -EINVAL, "'%s'", cases[i]);
        ck_assert_int_eq(us, 7);
    }
}
END_TEST

START_TEST(a_value_that_does_not_fit_is_out_of_range)
{
    int64_t us = 7;

    ck_assert_int_eq(timespan_parse("9999999999999999d", &us), -ERANGE);
    ck_assert_int_eq(timespan_parse("99999999999999999999999s", &us), -ERANGE);
    ck_assert_int_eq(us, 7);
}
END_TEST

START_TEST(a_written_value_reads_back)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1us"},
        {500000, "500ms"},
        {10000000, "10s"},
        {5400000000, "1h30m"},
        {604800000000, "7d"},
        {INT64_MAX, "106751991d4h54s775ms807us"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[TIMESPAN_TEXT_SIZE];
        int64_t us = -1;

        timespan_format(cases[i].us, text);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert_int_eq(timespan_parse(text, &us), 0);
        ck_assert_int_eq(us, cases[i].us);
    }
}
END_TEST

SUITE("timespan", timespans_are_read_with_their_units,
      nonsense_is_refused_and_leaves_the_result_alone, a_value_that_does_not_fit_is_out_of_range,
      a_written_value_reads_back)
