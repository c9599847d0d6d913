/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cron/cron_schedule.h"

#include <string.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/time_zone.h"
#include "testsuite/lib/suite.h"

static int64_t
seconds_of(const char *text)
{
    struct tm tm = {0};

    ck_assert_ptr_nonnull(strptime(text, "%Y-%m-%d %H:%M", &tm));
    return timegm(&tm);
}

static struct cron_schedule
schedule_of(const char *text)
{
    struct cron_schedule schedule;
    struct error err = {0};

    ck_assert_msg(cron_schedule_parse(text, &schedule, &err) == 0, "'%s': %s", text, err.text);
    return schedule;
}

START_TEST(the_next_time_is_the_first_that_all_fields_match)
{
    static const struct {
        const char *schedule, *after, *next;
    } cases[] = {
        {"* * * * *", "2026-11-23 16:42", "2026-11-23 16:43"},
        {"*/15 * * * *", "2026-11-23 16:45", "2026-11-23 17:00"},
        {"0 3 * * *", "2026-11-23 16:42", "2026-11-24 03:00"},
        {"0 3 * * *", "2026-12-31 03:00", "2027-01-01 03:00"},
        {"5-7/2 1,2 * * *", "2026-11-23 01:05", "2026-11-23 01:07"},
        {"0 0 31 * *", "2026-11-23 00:00", "2026-12-31 00:00"},
        {"0 0 29 2 ?", "2026-11-23 00:00", "2028-02-29 00:00"},
        {"0 0 * JAN-mar Mon", "2026-11-23 00:00", "2027-01-04 00:00"},
        {"0 0 13 * fri", "2026-11-23 00:00", "2026-11-27 00:00"},
        {"0 0 */2 * mon", "2026-11-22 00:00", "2026-11-23 00:00"},
        {"3/20 * * * *", "2026-11-23 00:00", "2026-11-23 00:03"},
        {"3/20 * * * *", "2026-11-23 00:03", "2026-11-23 00:23"},
        {"@hourly", "2026-11-23 16:42", "2026-11-23 17:00"},
        {"@daily", "2026-11-23 16:42", "2026-11-24 00:00"},
        {"@midnight", "2026-11-23 16:42", "2026-11-24 00:00"},
        {"@weekly", "2026-11-23 16:42", "2026-11-29 00:00"},
        {"@monthly", "2026-11-23 16:42", "2026-12-01 00:00"},
        {"@yearly", "2026-11-23 16:42", "2027-01-01 00:00"},
        {"@every 1h30m", "2026-11-23 16:42", "2026-11-23 18:12"},
        {"0,,5 * * * *", "2026-11-23 16:01", "2026-11-23 16:05"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cron_schedule s = schedule_of(cases[i].schedule);

        ck_assert_msg(cron_schedule_next_s(&s, NULL, seconds_of(cases[i].after))
                          == seconds_of(cases[i].next),
                      "'%s' after %s", cases[i].schedule, cases[i].after);
    }
}
END_TEST

START_TEST(a_day_that_never_comes_is_no_time)
{
    struct cron_schedule s = schedule_of("0 0 31 2 *");

    ck_assert_int_eq(cron_schedule_next_s(&s, NULL, 1700000000), 0);
    s = schedule_of(", * * * *");
    ck_assert_int_eq(cron_schedule_next_s(&s, NULL, 1700000000), 0);
}
END_TEST

/* Compares both functions for schedules of all shapes, beginning in a leap
 * year.
 */
START_TEST(a_schedule_that_can_come_has_a_next_time)
{
    static const struct {
        const char *schedule;
        bool comes;
    } cases[] = {
        {"0 0 30 2 *", false},   {"0 0 31 4,6 *", false},  {"0 0 31 4,6,7 *", true},
        {"0 0 29 2 *", true},    {"0 0 30,31 2 *", false}, {"0 0 30 2 1", true},
        {"0 0 30 2 */2", true},  {"0 0 * 2 *", true},      {"0 0 31 2,4,6,9,11 *", false},
        {"0 0 28-31 2 *", true}, {", * * * *", false},     {"* , * * *", false},
        {"* * , * *", false},    {"* * * , *", false},     {"* * * * ,", false},
        {"* * , * 1", true},     {"* * 1 * ,", true},      {"* * , * ,", false},
        {"@yearly", true},       {"@every 90s", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cron_schedule s = schedule_of(cases[i].schedule);

        ck_assert_msg(cron_schedule_can_come(&s) == cases[i].comes, "%s", cases[i].schedule);
        ck_assert_msg((cron_schedule_next_s(&s, NULL, 1700000000) != 0) == cases[i].comes,
                      "next of %s", cases[i].schedule);
    }
}
END_TEST

START_TEST(summer_time_leaves_times_out_and_repeats_others)
{
    static const struct {
        const char *schedule, *after, *next; /* UTC */
    } cases[] = {
        /* On 2026-03-29 there is no 02:30 in Berlin. */
        {"30 2 * * *", "2026-03-28 01:30", "2026-03-30 00:30"},
        {"30 * * * *", "2026-03-29 00:30", "2026-03-29 01:30"},
        /* On 2026-10-25 it occurs twice. */
        {"30 2 * * *", "2026-10-24 00:30", "2026-10-25 00:30"},
        {"30 2 * * *", "2026-10-25 00:30", "2026-10-25 01:30"},
        {"0 3 * * *", "2026-10-24 01:00", "2026-10-25 02:00"},
    };
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct error err = {0};

    ck_assert_int_eq(time_zone_open("Europe/Berlin", &zone, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cron_schedule s = schedule_of(cases[i].schedule);

        ck_assert_msg(cron_schedule_next_s(&s, zone, seconds_of(cases[i].after))
                          == seconds_of(cases[i].next),
                      "'%s' after %s", cases[i].schedule, cases[i].after);
    }
}
END_TEST

START_TEST(the_last_time_is_found_over_any_number_of_years)
{
    struct cron_schedule s = schedule_of("*/5 * * * *");
    int64_t now_s = seconds_of("2026-11-23 16:42");
    unsigned count;

    ck_assert_int_eq(cron_schedule_last_s(&s, NULL, 0, now_s, 101, &count),
                     seconds_of("2026-11-23 16:40"));
    ck_assert_uint_eq(count, 101);
    ck_assert_int_eq(cron_schedule_last_s(&s, NULL, now_s - 600, now_s, 101, &count),
                     seconds_of("2026-11-23 16:40"));
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(cron_schedule_last_s(&s, NULL, now_s - 60, now_s, 101, &count), 0);
    ck_assert_uint_eq(count, 0);
    s = schedule_of("0 0 1 1 *");
    ck_assert_int_eq(cron_schedule_last_s(&s, NULL, 0, now_s, 101, &count),
                     seconds_of("2026-01-01 00:00"));
    s = schedule_of("@every 90s");
    ck_assert_int_eq(cron_schedule_last_s(&s, NULL, now_s - 200, now_s, 101, &count), now_s - 20);
}
END_TEST

START_TEST(a_wrong_schedule_is_reported_in_upstreams_words)
{
    static const struct {
        const char *schedule, *words;
    } cases[] = {
        {"", "empty spec string"},
        {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
        {"* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"},
        {"61 * * * *", "end of range (61) above maximum (59): 61"},
        {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
        {"* * * * 7", "end of range (7) above maximum (6): 7"},
        {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
        {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
        {"1/2/3 * * * *", "too many slashes: 1/2/3"},
        {"*/0 * * * *", "step of range should be a positive number: */0"},
        {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid "
                      "syntax"},
        {"@reboot", "unrecognized descriptor: @reboot"},
        {"@every x", "failed to parse duration @every x: time: invalid duration \"x\""},
        {"99999999999999999999 * * * *", "failed to parse int"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cron_schedule s;
        struct error err = {0};

        ck_assert_int_lt(cron_schedule_parse(cases[i].schedule, &s, &err), 0);
        ck_assert_msg(strncmp(err.text, cases[i].words, strlen(cases[i].words)) == 0, "'%s': %s",
                      cases[i].schedule, err.text);
    }
}
END_TEST

SUITE("cron schedule", the_next_time_is_the_first_that_all_fields_match,
      a_day_that_never_comes_is_no_time, a_schedule_that_can_come_has_a_next_time,
      summer_time_leaves_times_out_and_repeats_others,
      the_last_time_is_found_over_any_number_of_years,
      a_wrong_schedule_is_reported_in_upstreams_words)
