/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/time_zone.h"

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(days_of_the_calendar_go_there_and_back)
{
    for (int64_t day = -1000; day < 100000; day += 7) {
        struct calendar_day d = calendar_day_of(day);

        ck_assert_int_eq(calendar_day_number(d), day);
    }
    ck_assert_int_eq(calendar_day_number((struct calendar_day){2000, 2, 29}), 11016);
    ck_assert_uint_eq(calendar_weekday(0), 4);
    ck_assert_uint_eq(calendar_weekday(-1), 3);
}
END_TEST

START_TEST(zones_have_the_offsets_of_their_place_and_time)
{
    static const struct {
        const char *name;
        int64_t at_s, offset_s;
    } cases[] = {
        {"UTC", 0, 0},
        {"Europe/Berlin", 1700000000, 3600},
        {"Europe/Berlin", 1690000000, 7200},
        {"Europe/Berlin", 1774745999, 3600}, /* 2026-03-29 */
        {"Europe/Berlin", 1774746000, 7200},
        {"Europe/Berlin", 4102444800 - 100, 3600}, /* by the rule: 2099 */
        {"Europe/Berlin", 4087540800, 7200},
        {"America/New_York", 1700000000, -18000},
        {"Australia/Lord_Howe", 1700000000, 39600},
        {"Australia/Lord_Howe", 1690000000, 37800},
        {"Asia/Kathmandu", 1700000000, 20700},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
        struct error err = {0};

        ck_assert_msg(time_zone_open(cases[i].name, &zone, &err) == 0, "%s", err.text);
        ck_assert_msg(time_zone_offset_s(zone, cases[i].at_s) == cases[i].offset_s, "%s",
                      cases[i].name);
    }
}
END_TEST

START_TEST(a_day_begins_where_midnight_is_left_out)
{
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct error err = {0};
    int64_t day = calendar_day_number((struct calendar_day){2018, 11, 4});

    ck_assert_int_eq(time_zone_open("America/Sao_Paulo", &zone, &err), 0);
    ck_assert_int_eq(time_zone_day_start_s(zone, day), day * 86400 + 3 * 3600);
    ck_assert_int_eq(time_zone_day_start_s(zone, day + 1), (day + 1) * 86400 + 2 * 3600);
}
END_TEST

START_TEST(no_name_leads_out_of_the_database)
{
    static const char *const names[] = {
        "",
        "/etc/passwd",
        "../../../etc/passwd",
        "Europe/../../../../etc/passwd",
        "Europe//Berlin",
        "Europe/",
        "Europe",
        "Europe/Pariss",
        "tzdata.zi",
        "Europe/.",
        "-x",
        "Averyveryverylongname/x",
        "Eur\nope",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct time_zone *zone = NULL;
        struct error err = {0};

        ck_assert_msg(time_zone_open(names[i], &zone, &err) < 0, "'%s'", names[i]);
        ck_assert_ptr_null(zone);
    }
}
END_TEST

SUITE("time zone", days_of_the_calendar_go_there_and_back,
      zones_have_the_offsets_of_their_place_and_time, a_day_begins_where_midnight_is_left_out,
      no_name_leads_out_of_the_database)
