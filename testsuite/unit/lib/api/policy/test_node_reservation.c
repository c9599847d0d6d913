/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/node_reservation.h"

#include <stdlib.h>
#include <time.h>

#include "lib/base/macro.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

#define HOUR_US (INT64_C(3600) * 1000000)

static int64_t
at(const char *text)
{
    int64_t us;

    ck_assert_int_eq(time_parse(text, &us), 0);
    return us;
}

static struct node_reservation
make(const char *start, const char *duration, const char *recurrence)
{
    return (struct node_reservation){
        .spec = {.start_us = at(start), .duration = duration, .recurrence = recurrence}};
}

static void
want_window(const struct node_reservation *r, const char *now, const char *from, const char *until)
{
    struct reserved_window window;
    char text[TIME_TEXT_SIZE];

    ck_assert_msg(node_reservation_window(r, at(now), &window), "%s", now);
    time_format(window.from_us, false, text);
    ck_assert_str_eq(text, from);
    time_format(window.until_us, false, text);
    ck_assert_str_eq(text, until);
}

START_TEST(one_that_comes_once_has_one_window)
{
    struct node_reservation r = make("2026-01-10T08:00:00Z", "4h", "");
    struct reserved_window window;

    want_window(&r, "2026-01-01T00:00:00Z", "2026-01-10T08:00:00Z", "2026-01-10T12:00:00Z");
    want_window(&r, "2026-01-10T11:59:59Z", "2026-01-10T08:00:00Z", "2026-01-10T12:00:00Z");
    ck_assert(!node_reservation_window(&r, at("2026-01-10T12:00:00Z"), &window));
}
END_TEST

START_TEST(one_without_a_duration_has_no_end)
{
    struct node_reservation r = make("2026-01-10T08:00:00Z", "", "");
    struct reserved_window window;

    ck_assert(node_reservation_window(&r, at("2126-01-10T12:00:00Z"), &window));
    ck_assert_int_eq(window.until_us, INT64_MAX);
}
END_TEST

START_TEST(a_daily_one_keeps_its_local_hour_when_summer_time_changes)
{
    struct node_reservation r = make("2026-03-27T19:00:00Z", "10h", "Daily");

    r.spec.time_zone = "Europe/Berlin"; /* 20:00 local time */
    want_window(&r, "2026-03-28T12:00:00Z", "2026-03-28T19:00:00Z", "2026-03-29T05:00:00Z");
    want_window(&r, "2026-03-29T12:00:00Z", "2026-03-29T18:00:00Z", "2026-03-30T04:00:00Z");
    want_window(&r, "2026-10-24T12:00:00Z", "2026-10-24T18:00:00Z", "2026-10-25T04:00:00Z");
    want_window(&r, "2026-10-25T12:00:00Z", "2026-10-25T19:00:00Z", "2026-10-26T05:00:00Z");
    want_window(&r, "2063-07-01T12:00:00Z", "2063-07-01T18:00:00Z", "2063-07-02T04:00:00Z");
}
END_TEST

/* Compares with the C library, which reads the rules of the zone itself. */
START_TEST(each_of_two_years_begins_at_the_same_hour_there)
{
    static const struct {
        const char *recurrence;
        int days, count;
    } rows[] = {{"Daily", 1, 730}, {"Weekly", 7, 104}};

    ck_assert_int_eq(setenv("TZ", "Europe/Berlin", 1), 0);
    tzset();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct node_reservation r = make("2026-01-04T19:00:00Z", "10h", rows[i].recurrence);
        struct reserved_window window = {.until_us = r.spec.start_us};

        r.spec.time_zone = "Europe/Berlin";
        for (int n = 0; n < rows[i].count; n++) {
            struct tm there = {.tm_year = 2026 - 1900,
                               .tm_mday = 4 + n * rows[i].days,
                               .tm_hour = 20,
                               .tm_isdst = -1};
            int64_t wanted_us = (int64_t)mktime(&there) * 1000000;

            ck_assert(node_reservation_window(&r, window.until_us, &window));
            ck_assert_msg(window.from_us == wanted_us, "%s, window %d", rows[i].recurrence, n);
            ck_assert_int_eq(window.until_us - window.from_us, 10 * HOUR_US);
        }
    }
}
END_TEST

START_TEST(a_weekly_one_keeps_its_local_hour_when_summer_time_changes)
{
    static const char *const windows[][2] = {
        {"2026-03-22T19:00:00Z", "2026-03-23T05:00:00Z"},
        /* summer time begins */
        {"2026-03-29T18:00:00Z", "2026-03-30T04:00:00Z"},
        {"2026-10-18T18:00:00Z", "2026-10-19T04:00:00Z"},
        {"2026-10-25T19:00:00Z", "2026-10-26T05:00:00Z"},
        {"2027-03-21T19:00:00Z", "2027-03-22T05:00:00Z"},
        {"2027-03-28T18:00:00Z", "2027-03-29T04:00:00Z"},
        {"2027-10-24T18:00:00Z", "2027-10-25T04:00:00Z"},
        {"2027-10-31T19:00:00Z", "2027-11-01T05:00:00Z"},
    };
    struct node_reservation r = make("2026-01-04T19:00:00Z", "", "Weekly");

    r.spec.end_us = at("2026-01-05T05:00:00Z"); /* 10 hours, as a duration */
    r.spec.time_zone = "Europe/Berlin";
    for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
        want_window(&r, windows[i][0], windows[i][0], windows[i][1]);
}
END_TEST

START_TEST(an_hour_that_is_left_out_comes_later_and_one_that_comes_twice_once)
{
    struct node_reservation r = make("2026-03-28T01:30:00Z", "1h", "Daily");

    r.spec.time_zone = "Europe/Berlin";                             /* 02:30 local time */
    want_window(&r, "2026-03-29T00:00:00Z", "2026-03-29T01:30:00Z", /* 03:30 */
                "2026-03-29T02:30:00Z");
    want_window(&r, "2026-03-29T12:00:00Z", "2026-03-30T00:30:00Z", "2026-03-30T01:30:00Z");
    want_window(&r, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", /* the first 02:30 */
                "2026-10-25T01:30:00Z");
    want_window(&r, "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z", "2026-10-26T02:30:00Z");
}
END_TEST

START_TEST(a_weekly_one_comes_on_its_day)
{
    struct node_reservation r = make("2026-01-05T08:00:00Z", "2h", "Weekly");

    want_window(&r, "2020-01-01T00:00:00Z", "2026-01-05T08:00:00Z", "2026-01-05T10:00:00Z");
    want_window(&r, "2026-01-05T10:00:00Z", "2026-01-12T08:00:00Z", "2026-01-12T10:00:00Z");
    want_window(&r, "2026-06-17T00:00:00Z", "2026-06-22T08:00:00Z", "2026-06-22T10:00:00Z");
}
END_TEST

/* Every moment has a window that ends after it, and no window is skipped. */
START_TEST(the_windows_of_years_follow_each_other)
{
    struct node_reservation r = make("2026-03-01T22:30:00Z", "5h", "Daily");
    struct reserved_window before, next;

    r.spec.time_zone = "America/New_York";
    ck_assert(node_reservation_window(&r, r.spec.start_us, &before));
    for (unsigned i = 0; i < 3000; i++) {
        ck_assert(node_reservation_window(&r, before.until_us - 1, &next));
        ck_assert_int_eq(next.from_us, before.from_us);
        ck_assert(node_reservation_window(&r, before.until_us, &next));
        ck_assert_int_ge(next.from_us - before.from_us, 23 * HOUR_US);
        ck_assert_int_le(next.from_us - before.from_us, 25 * HOUR_US);
        ck_assert_int_eq(next.until_us - next.from_us, 5 * HOUR_US);
        before = next;
    }
}
END_TEST

START_TEST(a_flexible_one_has_its_duration_from_when_it_began)
{
    struct node_reservation r = make("2026-01-10T08:00:00Z", "4h", "");
    struct reserved_window window;

    r.spec.is_flexible = true;
    ck_assert(node_reservation_window(&r, at("2026-01-11T00:00:00Z"), &window));
    ck_assert_int_eq(window.from_us, r.spec.start_us);
    ck_assert_int_eq(window.until_us, INT64_MAX);
    r.status.begun_us = at("2026-01-11T01:00:00Z");
    want_window(&r, "2026-01-11T02:00:00Z", "2026-01-11T01:00:00Z", "2026-01-11T05:00:00Z");
}
END_TEST

START_TEST(two_meet_where_they_have_a_moment_in_common)
{
    static const struct {
        const char *start, *duration, *recurrence;
        bool meets;
    } rows[] = {
        {"2026-01-10T07:00:00Z", "1h", "", false},
        {"2026-01-10T07:00:00Z", "61", "", true},
        {"2026-01-10T12:00:00Z", "1h", "", false},
        {"2026-01-10T11:59:59Z", "1h", "", true},
        {"2026-01-01T09:00:00Z", "1h", "Daily", true},
        {"2026-01-01T13:00:00Z", "1h", "Daily", false},
        {"2026-01-03T09:00:00Z", "1h", "Weekly", true},
        {"2026-01-02T09:00:00Z", "1h", "Weekly", false},
        {"2026-01-02T09:00:00Z", "", "", true},
    };
    struct node_reservation a = make("2026-01-10T08:00:00Z", "4h", "");
    int64_t now_us = at("2026-01-01T00:00:00Z");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct node_reservation b = make(rows[i].start, rows[i].duration, rows[i].recurrence);

        ck_assert_msg(node_reservation_meets_other(&a, &b, now_us) == rows[i].meets, "row %zu", i);
        ck_assert_msg(node_reservation_meets_other(&b, &a, now_us) == rows[i].meets,
                      "row %zu, turned round", i);
    }
}
END_TEST

START_TEST(two_of_other_zones_meet_in_one_season_alone)
{
    struct node_reservation a = make("2026-01-01T18:00:00Z", "1h", "Daily");
    struct node_reservation b = make("2026-01-01T19:00:00Z", "1h", "Daily");
    int64_t now_us = at("2026-01-01T00:00:00Z");

    ck_assert(!node_reservation_meets_other(&a, &b, now_us));
    b.spec.time_zone = "Europe/Berlin"; /* 18:00 UTC in summer */
    ck_assert(node_reservation_meets_other(&a, &b, now_us));
}
END_TEST

SUITE("node_reservation", one_that_comes_once_has_one_window, one_without_a_duration_has_no_end,
      a_daily_one_keeps_its_local_hour_when_summer_time_changes,
      each_of_two_years_begins_at_the_same_hour_there,
      a_weekly_one_keeps_its_local_hour_when_summer_time_changes,
      an_hour_that_is_left_out_comes_later_and_one_that_comes_twice_once,
      a_weekly_one_comes_on_its_day, the_windows_of_years_follow_each_other,
      a_flexible_one_has_its_duration_from_when_it_began,
      two_meet_where_they_have_a_moment_in_common, two_of_other_zones_meet_in_one_season_alone)
