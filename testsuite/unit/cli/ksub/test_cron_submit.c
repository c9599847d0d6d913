/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/cron_submit.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(sunday_may_be_the_day_7_as_in_a_crontab)
{
    static const char *const cases[][2] = {
        {"0 0 * * 7", "0 0 * * 0"},
        {"0 0 * * 5-7", "0 0 * * 5,6,0"},
        {"0 0 * * 1-7/2", "0 0 * * 1,3,5,0"},
        {" 0\t0 * * 1,7", " 0\t0 * * 1,0"},
        {"7 7 7 7 7 ", "7 7 7 7 0 "},
        {"0 0 7 * 0-6", "0 0 7 * 0-6"},
        {"0 0 * * 0-7", "0 0 * * 0,1,2,3,4,5,6,0"},
        /* mistakes stay for the parser */
        {"0 0 * * 77", "0 0 * * 77"},
        {"0 0 * * 7-1", "0 0 * * 7-1"},
        {"0 0 * * 1-7/0", "0 0 * * 1-7/0"},
        {"0 0 * * 8", "0 0 * * 8"},
        {"0 0 * *", "0 0 * *"},
        {"@daily", "@daily"},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);

        ck_assert_str_eq(cron_submit_schedule(cases[i][0], arena), cases[i][1]);
    }
}
END_TEST

START_TEST(a_wrong_field_is_named_with_what_it_may_be)
{
    static const char *const cases[][2] = {
        {"60 * * * *", "the minute '60' is not in 0-59"},
        {"0 24 * * *", "the hour '24' is not in 0-23"},
        {"0 0 0 * *", "the day of the month '0' is not in 1-31"},
        {"0 0 * 1,13 *", "the month '1,13' is not in 1-12"},
        {"0 0 * * 5-8", "the weekday '5-8' is not in 0-7"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const char *words = cron_submit_explain(cases[i][0], arena);

        ck_assert_msg(words != NULL && strncmp(words, cases[i][1], strlen(cases[i][1])) == 0,
                      "%s: %s", cases[i][0], words != NULL ? words : "nothing");
    }
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    ck_assert_ptr_null(cron_submit_explain("0 0 * * 7", arena));
    ck_assert_ptr_null(cron_submit_explain("0 0 * *", arena));
}
END_TEST

SUITE("cron_submit", a_wrong_field_is_named_with_what_it_may_be,
      sunday_may_be_the_day_7_as_in_a_crontab)
