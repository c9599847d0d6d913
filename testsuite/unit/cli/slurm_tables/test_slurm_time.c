/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_time.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define S   INT64_C(1000000)
#define NOW (INT64_C(1795965793) * S) /* 2026-11-29T15:23:13, a Sunday */

static void
set_up(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    unsetenv("SLURM_TIME_FORMAT");
}

START_TEST(a_point_has_the_form_of_the_environment)
{
    static const struct {
        const char *format, *text;
    } cases[] = {
        {"standard", "2026-11-29T15:23:13"},
        {"%s", "1795965793"},
        {"%H:%M|%Y", "15:23|2026"},
        {"", "2026-11-29T15:23:13"},
    };

    set_up();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        setenv("SLURM_TIME_FORMAT", cases[i].format, 1);
        slurm_time_add(NOW, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

START_TEST(lengths_are_those_of_squeue_and_of_sacct)
{
    static const struct {
        int64_t seconds;
        const char *queue, *account;
    } cases[] = {
        {0, "0:00", "00:00:00"},
        {65, "1:05", "00:01:05"},
        {3600, "1:00:00", "01:00:00"},
        {93784, "1-02:03:04", "1-02:03:04"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        slurm_time_add_length(cases[i].seconds, &out);
        ck_assert_str_eq(out.text, cases[i].queue);
        strbuf_truncate(&out, 0);
        slurm_time_add_elapsed(cases[i].seconds, &out);
        ck_assert_str_eq(out.text, cases[i].account);
    }
}
END_TEST

START_TEST(cpu_times_have_thousandths_below_an_hour)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    slurm_time_add_cpu(1000, &out);
    strbuf_add_char(&out, ' ');
    slurm_time_add_cpu(61 * S, &out);
    strbuf_add_char(&out, ' ');
    slurm_time_add_cpu(3661 * S + 5000, &out);
    ck_assert_str_eq(out.text, "00:00.001 01:01.000 01:01:01");
}
END_TEST

START_TEST(times_are_read_in_all_of_slurms_forms)
{
    static const struct {
        const char *text;
        int64_t s; /* relative to midnight of that day */
    } cases[] = {
        {"15:00", 15 * 3600},
        {"15:00:30", 15 * 3600 + 30},
        {"3:00 PM", 15 * 3600},
        {"12:30am", 1800},
        {"2026-11-29", 0},
        {"2026-11-29T08:15", 8 * 3600 + 900},
        {"2026-11-29T08:00:01", 8 * 3600 + 1},
        {"11/29/26", 0},
        {"11/29/26-15:00", 15 * 3600},
        {"11/29-15:00:01", 15 * 3600 + 1},
        {"11.29.26", 0},
        {"midnight", 0},
        {"now", 15 * 3600 + 23 * 60 + 13},
        {"now-1hour", 14 * 3600 + 23 * 60 + 13},
        {"now-3days", 15 * 3600 + 23 * 60 + 13 - 3 * 86400},
        {"today", 0},
        {"uts1795910400", 1795910400 - (NOW / S - (15 * 3600 + 23 * 60 + 13))},
    };

    set_up();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t us = 0;

        ck_assert_msg(slurm_time_parse(cases[i].text, NOW, &us, NULL) == 0, "%s", cases[i].text);
        ck_assert_msg(us / S == NOW / S - (15 * 3600 + 23 * 60 + 13) + cases[i].s, "%s: %lld",
                      cases[i].text, (long long)(us / S));
    }
}
END_TEST

START_TEST(a_wrong_time_is_refused)
{
    static const char *const cases[] = {"foo", "25:00", "13/45/26", "11/29/26-x", "12:30pmx"};

    set_up();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        int64_t us = 7;

        ck_assert_msg(slurm_time_parse(cases[i], NOW, &us, &err) < 0, "%s", cases[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "Invalid time specification"));
    }
}
END_TEST

SUITE("slurm_time", a_point_has_the_form_of_the_environment,
      lengths_are_those_of_squeue_and_of_sacct, cpu_times_have_thousandths_below_an_hour,
      times_are_read_in_all_of_slurms_forms, a_wrong_time_is_refused)
