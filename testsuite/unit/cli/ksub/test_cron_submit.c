/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/cron_submit.h"

#include <check.h>

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

SUITE("cron_submit", sunday_may_be_the_day_7_as_in_a_crontab)
