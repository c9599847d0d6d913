/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/since_time.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)

/* 2026-11-23 09:15:34 UTC */
#define NOW_S INT64_C(1795425334)

static void
live_in(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

START_TEST(people_name_moments_in_many_ways)
{
    static const struct {
        const char *text;
        int64_t before_s;
    } cases[] = {
        {"0", 0},
        {"90s", 90},
        {"2h", 7200},
        {"3d", INT64_C(3) * 86400},
        {"now", 0},
        {"today", 9 * 3600 + 15 * 60 + 34},
        {"Today", 9 * 3600 + 15 * 60 + 34},
        {"midnight", 9 * 3600 + 15 * 60 + 34},
        {"yesterday", 86400 + 9 * 3600 + 15 * 60 + 34},
        {"09:15", 34},
        {"09:15:34", 0},
        {"09:15:35", 86399}, /* yet to come today: yesterday's */
        {"2026-11-23", 9 * 3600 + 15 * 60 + 34},
        {"2026-11-23T09:00", 15 * 60 + 34},
        {"2026-11-22 09:15:34", 86400},
        {"2026-11-23T09:00:00Z", 15 * 60 + 34},
        {"2026-11-23T10:00:00+01:00", 15 * 60 + 34},
    };

    live_in("UTC0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        int64_t us = -1;

        ck_assert_msg(since_time_parse(cases[i].text, NOW_S * SECOND, &us, &err)
                          == 0,
                      "%s: %s",
                      cases[i].text,
                      err.text);
        ck_assert_msg(us == (NOW_S - cases[i].before_s) * SECOND,
                      "%s",
                      cases[i].text);
    }
}
END_TEST

START_TEST(clocks_and_days_are_local)
{
    int64_t us;

    live_in("XXX-5:30");
    ck_assert_int_eq(since_time_parse("14:45", NOW_S * SECOND, &us, NULL), 0);
    ck_assert_int_eq(us, (NOW_S - 34) * SECOND);
}
END_TEST

START_TEST(mistakes_are_refused_with_the_nearest_word)
{
    static const char *const texts[] = {
        "",
        "tomorrow",
        "25:00",
        "09:60",
        "9",
        "09:15x",
        "2026-02-30",
        "2026-13-01",
        "-1h",
        "2026-11-23T",
        "2h ago",
        "09:15:34:00",
        "2026-11-24",
        "yesterdy",
    };
    struct error err = {0};
    int64_t us;

    live_in("UTC0");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        ck_assert_msg(since_time_parse(texts[i], NOW_S * SECOND, &us, &err)
                          == -EINVAL,
                      "%s",
                      texts[i]);
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean 'yesterday'"));
}
END_TEST

SUITE("since_time",
      people_name_moments_in_many_ways,
      clocks_and_days_are_local,
      mistakes_are_refused_with_the_nearest_word)
