/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/begin_time.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* Friday, 20 November 2026, 14:30 */
#define NOW INT64_C(1795185000)

static void
assert_moment(const char *text, const char *expected)
{
    char formatted[TIME_TEXT_SIZE];
    int64_t us = 0;

    setenv("TZ", "UTC", 1);
    tzset();
    ck_assert_msg(begin_time_parse(text, NOW * 1000000, &us, NULL) == 0,
                  "'%s' is refused",
                  text);
    time_format(us, false, formatted);
    ck_assert_msg(strcmp(formatted, expected) == 0,
                  "'%s' is %s, not %s",
                  text,
                  formatted,
                  expected);
}

START_TEST(a_moment_is_read_as_slurm_reads_it)
{
    static const char *const cases[][2] = {
        {"now", "2026-11-20T14:30:00Z"},
        {"now+1hour", "2026-11-20T15:30:00Z"},
        {"now+90", "2026-11-20T14:31:30Z"},
        {"now+2days", "2026-11-22T14:30:00Z"},
        {"now+1week", "2026-11-27T14:30:00Z"},
        {"16:00", "2026-11-20T16:00:00Z"},
        {"16:00:05", "2026-11-20T16:00:05Z"},
        {"4:30pm", "2026-11-20T16:30:00Z"},
        {"4:30 pm", "2026-11-20T16:30:00Z"},
        {"4:30 PM tomorrow", "2026-11-21T16:30:00Z"},
        {"12:00am", "2026-11-21T00:00:00Z"},
        {"teatime", "2026-11-20T16:00:00Z"},
        {"2026-12-24", "2026-12-24T00:00:00Z"},
        {"2026-12-24T18:00", "2026-12-24T18:00:00Z"},
        {"2026-12-24T18:00:30", "2026-12-24T18:00:30Z"},
        {"2026-12-24 18:00", "2026-12-24T18:00:00Z"},
        {"12/24/26", "2026-12-24T00:00:00Z"},
        {"12.24.26", "2026-12-24T00:00:00Z"},
        {"122426", "2026-12-24T00:00:00Z"},
        {"12/24", "2026-12-24T00:00:00Z"},
        {"1224", "2026-12-24T00:00:00Z"},
        {"tomorrow", "2026-11-21T00:00:00Z"},
        {"16:00 tomorrow", "2026-11-21T16:00:00Z"},
        {"tomorrow noon", "2026-11-21T12:00:00Z"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_moment(cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(a_time_of_day_that_has_passed_is_tomorrows)
{
    assert_moment("14:00", "2026-11-21T14:00:00Z");
    assert_moment("noon", "2026-11-21T12:00:00Z");
    assert_moment("midnight", "2026-11-21T00:00:00Z");
}
END_TEST

START_TEST(a_day_of_the_year_that_has_passed_is_next_years)
{
    assert_moment("01/02", "2027-01-02T00:00:00Z");
    assert_moment("1119", "2027-11-19T00:00:00Z");
}
END_TEST

START_TEST(what_is_no_moment_is_refused)
{
    static const char *const cases[] = {
        "",
        " ",
        "now+",
        "now+1fortnight",
        "now-1",
        "25:00",
        "12:60",
        "13:00pm",
        "0:30am",
        "2026-13-01",
        "2026-02-30x",
        "32/12/26",
        "12:00 13:00",
        "today tomorrow",
        "soon",
        "now+99999999999",
        "2026-12-24T",
        "T12:00",
        "1970-00-10",
        "now+99999999weeks",
        "\xff\xfe",
        "a very long text that is certainly no time at all, whatever follows it",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t us = 17;

        ck_assert_msg(begin_time_parse(cases[i], NOW * 1000000, &us, NULL)
                          == -EINVAL,
                      "'%s' was taken",
                      cases[i]);
        ck_assert_int_eq(us, 17);
    }
}
END_TEST

/* On 2027-03-28 clocks in Berlin go from 02:00 to 03:00. */
START_TEST(a_time_that_clocks_leave_out_is_refused)
{
    struct error err = {0};
    int64_t us = 0;

    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    ck_assert_int_eq(
        begin_time_parse("2027-03-28T02:30", NOW * 1000000, &us, &err),
        -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "there is no 02:30 on that day"));
    ck_assert_int_eq(
        begin_time_parse("2027-03-28T03:30", NOW * 1000000, &us, &err),
        0);
    ck_assert_int_eq(begin_time_parse("2027-02-29", NOW * 1000000, &us, &err),
                     -EINVAL);
    ck_assert_int_eq(begin_time_parse("2028-02-29", NOW * 1000000, &us, &err),
                     0);
    /* The next one is the day after. */
    ck_assert_int_eq(
        begin_time_parse("02:30", INT64_C(1806192000) * 1000000, &us, &err),
        0);
}
END_TEST

SUITE("begin_time",
      a_moment_is_read_as_slurm_reads_it,
      a_time_of_day_that_has_passed_is_tomorrows,
      a_day_of_the_year_that_has_passed_is_next_years,
      what_is_no_moment_is_refused,
      a_time_that_clocks_leave_out_is_refused)
