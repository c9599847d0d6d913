/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/duration.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(a_time_is_read_as_slurm_reads_it)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"90", 5400},
        {"0", DURATION_UNLIMITED},
        {"90:30", 5430},
        {"1:30:00", 5400},
        {"2-12", 216000},
        {"2-12:30", 217800},
        {"2-12:30:15", 217815},
        {"0-0:0:1", 1},
        {"100:00:00", 360000},
        {"unlimited", DURATION_UNLIMITED},
        {"INFINITE", DURATION_UNLIMITED},
        {"90s", 90},
        {"30m", 1800},
        {"2h", 7200},
        {"1h30m", 5400},
        {"1.5h", 5400},
        {"2d", 172800},
        {"1500ms", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t seconds = -1;

        ck_assert_int_eq(duration_parse(cases[i].text, &seconds, NULL), 0);
        ck_assert_msg(seconds == cases[i].seconds, "'%s' is %lld", cases[i].text,
                      (long long)seconds);
    }
}
END_TEST

START_TEST(a_wrong_time_is_refused_with_the_right_forms)
{
    static const char *const cases[] = {
        "",       " ",   "-",       "-5", "5x",
        "1:",     ":1",  "1:2:3:4", "1-", "1-2:3:4:5",
        "1--2",   "1.5", "+5",      "1 ", "9999999999999",
        "0x10",   "one", "\xff",    "0s", "2h30",
        "2h1:30", "m",   "1-2h",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        int64_t seconds = 17;

        ck_assert_msg(duration_parse(cases[i], &seconds, &err) == -EINVAL, "'%s' was taken",
                      cases[i]);
        ck_assert_int_eq(seconds, 17);
        ck_assert_ptr_nonnull(strstr(err.text, "d-hh:mm:ss"));
    }
}
END_TEST

START_TEST(a_time_beyond_a_hundred_years_is_refused)
{
    int64_t seconds = 17;

    ck_assert_int_eq(duration_parse("999999-0", &seconds, NULL), -ERANGE);
    ck_assert_int_eq(seconds, 17);
}
END_TEST

START_TEST(a_time_is_written_as_it_could_be_read)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    duration_format(217815, &out);
    strbuf_add_char(&out, ' ');
    duration_format(61, &out);
    strbuf_add_char(&out, ' ');
    duration_format(DURATION_UNLIMITED, &out);

    ck_assert_str_eq(out.text, "2-12:30:15 0:01:01 unlimited");
}
END_TEST

START_TEST(a_time_in_a_table_has_no_more_digits_than_it_needs)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "0:00"},         {9, "0:09"},           {3599, "59:59"},        {3600, "1:00:00"},
        {86399, "23:59:59"}, {86400, "1-00:00:00"}, {217815, "2-12:30:15"}, {-1, "0:00"},
        {-86400, "0:00"}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char out[DURATION_BRIEF_SIZE];

        duration_format_brief(cases[i].seconds, out);
        ck_assert_str_eq(out, cases[i].text);
    }
}
END_TEST

SUITE("duration", a_time_is_read_as_slurm_reads_it, a_wrong_time_is_refused_with_the_right_forms,
      a_time_beyond_a_hundred_years_is_refused, a_time_is_written_as_it_could_be_read,
      a_time_in_a_table_has_no_more_digits_than_it_needs)
