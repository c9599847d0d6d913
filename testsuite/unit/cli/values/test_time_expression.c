/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/time_expression.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* Friday, 20 November 2026, 14:30 UTC */
#define NOW    INT64_C(1795185000)
#define SECOND INT64_C(1000000)

struct meant {
    const char *text;
    const char *expected; /* UTC */
};

static void
live_in(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void
assert_meant(const struct meant *m, enum time_direction direction, int64_t now_s)
{
    char formatted[TIME_TEXT_SIZE];
    struct error err = {0};
    int64_t us = 0;

    ck_assert_msg(time_expression_parse(m->text, direction, now_s * SECOND, &us, &err) == 0,
                  "'%s' is refused: %s", m->text, err.text);
    time_format(us, false, formatted);
    ck_assert_msg(strcmp(formatted, m->expected) == 0, "'%s' is %s, not %s", m->text, formatted,
                  m->expected);
}

START_TEST(the_same_words_mean_the_same_in_both_directions)
{
    static const struct meant cases[] = {
        {"now", "2026-11-20T14:30:00Z"},
        {"now-1hour", "2026-11-20T13:30:00Z"},
        {"now-2h", "2026-11-20T12:30:00Z"},
        {"-7d", "2026-11-13T14:30:00Z"},
        {"-1w", "2026-11-13T14:30:00Z"},
        {"-1h30m", "2026-11-20T13:00:00Z"},
        {"today", "2026-11-20T00:00:00Z"},
        {"Today 08:30", "2026-11-20T08:30:00Z"},
        {"yesterday", "2026-11-19T00:00:00Z"},
        {"yesterday 4pm", "2026-11-19T16:00:00Z"},
        {"last monday", "2026-11-16T00:00:00Z"},
        {"last friday", "2026-11-13T00:00:00Z"},
        {"2026-11-19", "2026-11-19T00:00:00Z"},
        {"2026-11-19T08:30", "2026-11-19T08:30:00Z"},
        {"2026-11-19 08:30:05", "2026-11-19T08:30:05Z"},
        {"2026-11-19T08:30:00Z", "2026-11-19T08:30:00Z"},
        {"2026-11-19T10:00:00+01:00", "2026-11-19T09:00:00Z"},
        {"11/19/26", "2026-11-19T00:00:00Z"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_meant(&cases[i], TIME_AHEAD, NOW);
        assert_meant(&cases[i], TIME_BACK, NOW);
    }
}
END_TEST

START_TEST(ahead_a_time_is_the_next_one)
{
    static const struct meant cases[] = {
        {"now+1hour", "2026-11-20T15:30:00Z"},
        {"now+90", "2026-11-20T14:31:30Z"},
        {"now+2days", "2026-11-22T14:30:00Z"},
        {"now+ 2 days", "2026-11-22T14:30:00Z"},
        {"now+1week", "2026-11-27T14:30:00Z"},
        {"now+1h30m", "2026-11-20T16:00:00Z"},
        {"+2h", "2026-11-20T16:30:00Z"},
        {"16:00", "2026-11-20T16:00:00Z"},
        {"16:00:05", "2026-11-20T16:00:05Z"},
        {"4:30pm", "2026-11-20T16:30:00Z"},
        {"4:30 pm", "2026-11-20T16:30:00Z"},
        {"5pm", "2026-11-20T17:00:00Z"},
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
        {"tomorrow 3:00", "2026-11-21T03:00:00Z"},
        {"16:00 tomorrow", "2026-11-21T16:00:00Z"},
        {"tomorrow noon", "2026-11-21T12:00:00Z"},
        {"14:00", "2026-11-21T14:00:00Z"},
        {"noon", "2026-11-21T12:00:00Z"},
        {"midnight", "2026-11-21T00:00:00Z"},
        {"01/02", "2027-01-02T00:00:00Z"},
        {"1119", "2027-11-19T00:00:00Z"},
        {"monday", "2026-11-23T00:00:00Z"},
        {"Mon 08:00", "2026-11-23T08:00:00Z"},
        {"next monday", "2026-11-23T00:00:00Z"},
        {"friday", "2026-11-27T00:00:00Z"},
        {"friday 16:00", "2026-11-20T16:00:00Z"},
        {"next friday 16:00", "2026-11-27T16:00:00Z"},
        {"thursday", "2026-11-26T00:00:00Z"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_meant(&cases[i], TIME_AHEAD, NOW);
}
END_TEST

START_TEST(back_a_time_is_the_last_one)
{
    static const struct meant cases[] = {
        {"0", "2026-11-20T14:30:00Z"},        {"90s", "2026-11-20T14:28:30Z"},
        {"2h", "2026-11-20T12:30:00Z"},       {"3d", "2026-11-17T14:30:00Z"},
        {"14:00", "2026-11-20T14:00:00Z"},    {"14:30", "2026-11-20T14:30:00Z"},
        {"14:30:01", "2026-11-19T14:30:01Z"}, {"noon", "2026-11-20T12:00:00Z"},
        {"midnight", "2026-11-20T00:00:00Z"}, {"monday", "2026-11-16T00:00:00Z"},
        {"friday", "2026-11-20T00:00:00Z"},   {"friday 16:00", "2026-11-13T16:00:00Z"},
        {"saturday", "2026-11-14T00:00:00Z"}, {"11/19", "2026-11-19T00:00:00Z"},
        {"12/24", "2025-12-24T00:00:00Z"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_meant(&cases[i], TIME_BACK, NOW);
}
END_TEST

static const char *
refusal(const char *text, enum time_direction direction, int64_t now_s)
{
    static struct error err;
    int64_t us = 17;

    memset(&err, 0, sizeof(err));
    ck_assert_msg(time_expression_parse(text, direction, now_s * SECOND, &us, &err) == -EINVAL,
                  "'%s' was taken", text);
    ck_assert_int_eq(us, 17);
    return err.text;
}

START_TEST(a_wrong_time_is_refused_in_both_directions)
{
    static const char *const cases[] = {
        "",
        " ",
        "now+",
        "now 2h",
        "now+1fortnight",
        "25:00",
        "12:60",
        "13:00pm",
        "0:30am",
        "9",
        "09:15x",
        "09:15:34:00",
        "2h ago",
        "2026-13-01",
        "2026-02-30",
        "2026-02-30x",
        "02/29",
        "32/12/26",
        "12:00 13:00",
        "today tomorrow",
        "monday tuesday",
        "next",
        "next 12:00",
        "last year",
        "mo",
        "mondays",
        "soon",
        "now+99999999999",
        "2026-12-24T",
        "T12:00",
        "1970-00-10",
        "now+99999999weeks",
        "\xff\xfe",
        "a very long text that is certainly no time at all, whatever follows it",
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        refusal(cases[i], TIME_AHEAD, NOW);
        refusal(cases[i], TIME_BACK, NOW);
    }
}
END_TEST

START_TEST(a_mistake_is_told_with_what_may_be_meant)
{
    static const struct {
        const char *text;
        enum time_direction direction;
        const char *words;
    } cases[] = {
        {"yesterdy", TIME_BACK, "did you mean 'yesterday'"},
        {"tomorow", TIME_AHEAD, "did you mean 'tomorrow'"},
        {"wensday", TIME_AHEAD, "did you mean 'wednesday'"},
        {"2h", TIME_AHEAD, "did you mean 'now+2h'"},
        {"later", TIME_AHEAD, "such as now+1hour"},
        {"before", TIME_BACK, "such as 2h, 3d"},
        {"tomorrow", TIME_BACK, "'tomorrow' is in the future"},
        {"next monday", TIME_BACK, "is in the future"},
        {"+2h", TIME_BACK, "is in the future"},
        {"2026-11-21", TIME_BACK, "is in the future"},
        {"2 tomorrows", TIME_END, "such as 2h, 3d"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *text = refusal(cases[i].text, cases[i].direction, NOW);

        ck_assert_msg(strstr(text, cases[i].words) != NULL, "%s", text);
    }
}
END_TEST

/* If several days match it is the last one, as for the begin of a period. */
START_TEST(a_period_may_end_later_than_now)
{
    static const struct meant cases[] = {
        {"tomorrow", "2026-11-21T00:00:00Z"},    {"tomorrow 3:00", "2026-11-21T03:00:00Z"},
        {"2026-12-24", "2026-12-24T00:00:00Z"},  {"now+1hour", "2026-11-20T15:30:00Z"},
        {"2h", "2026-11-20T12:30:00Z"},          {"now", "2026-11-20T14:30:00Z"},
        {"today", "2026-11-20T00:00:00Z"},       {"monday", "2026-11-16T00:00:00Z"},
        {"next monday", "2026-11-23T00:00:00Z"}, {"16:00", "2026-11-19T16:00:00Z"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_meant(&cases[i], TIME_END, NOW);
}
END_TEST

START_TEST(clocks_and_days_are_local)
{
    const struct meant m = {"20:00", "2026-11-20T14:30:00Z"};
    const struct meant day = {"today", "2026-11-19T18:30:00Z"};

    live_in("XXX-5:30");
    assert_meant(&m, TIME_AHEAD, NOW);
    assert_meant(&m, TIME_BACK, NOW);
    assert_meant(&day, TIME_BACK, NOW);
}
END_TEST

/* On 2027-03-28 clocks in Berlin change from 02:00 to 03:00. */
START_TEST(a_time_that_clocks_leave_out_is_refused)
{
    const struct meant after = {"2027-03-28T03:30", "2027-03-28T01:30:00Z"};
    const struct meant next = {"02:30", "2027-03-29T00:30:00Z"};
    const struct meant leap = {"2028-02-29", "2028-02-28T23:00:00Z"};
    const struct meant monday = {"monday", "2027-03-28T22:00:00Z"};
    const struct meant day = {"now+1day", "2027-03-28T19:00:00Z"};

    live_in("Europe/Berlin");
    ck_assert_ptr_nonnull(
        strstr(refusal("2027-03-28T02:30", TIME_AHEAD, NOW), "there is no 02:30 on that day"));
    ck_assert_ptr_nonnull(
        strstr(refusal("2026-03-29 02:30", TIME_BACK, NOW), "there is no 02:30 on that day"));
    assert_meant(&after, TIME_AHEAD, NOW);
    assert_meant(&leap, TIME_AHEAD, NOW);
    refusal("2027-02-29", TIME_AHEAD, NOW);
    /* Saturday, 20:00 in Berlin: tomorrow has 23 hours. */
    assert_meant(&monday, TIME_AHEAD, INT64_C(1806174000));
    assert_meant(&day, TIME_AHEAD, INT64_C(1806174000));
    /* Sunday, 00:00 UTC: the next 02:30 is on the day after. */
    assert_meant(&next, TIME_AHEAD, INT64_C(1806192000));
}
END_TEST

/* On 2026-10-25 clocks change from 03:00 to 02:00, at 01:00 UTC. */
START_TEST(of_a_time_that_comes_twice_the_direction_chooses)
{
    const struct meant first = {"02:30", "2026-10-25T00:30:00Z"};
    const struct meant second = {"02:30", "2026-10-25T01:30:00Z"};
    const int64_t before = INT64_C(1792886400);  /* 00:00 UTC */
    const int64_t between = INT64_C(1792890000); /* 01:00 UTC */
    const int64_t after = INT64_C(1792893600);   /* 02:00 UTC */

    live_in("Europe/Berlin");
    assert_meant(&first, TIME_AHEAD, before);
    assert_meant(&second, TIME_AHEAD, between);
    assert_meant(&first, TIME_BACK, between);
    assert_meant(&second, TIME_BACK, after);
}
END_TEST

/* NOW is 14:30. */
START_TEST(a_period_may_end_on_the_day_after_it_begins)
{
    static const struct {
        const char *start, *end;
        const char *expected;
    } cases[] = {
        {"20:00", "08:00", "2026-11-21T08:00:00Z"},
        {"20:00", "22:00", "2026-11-20T22:00:00Z"},
        {"16:00", "15:00", "2026-11-21T15:00:00Z"},
        {"tomorrow 20:00", "08:00", "2026-11-22T08:00:00Z"},
        {"tomorrow 20:00", "20:00", "2026-11-22T20:00:00Z"},
        {"monday", "saturday", "2026-11-28T00:00:00Z"},
        /* A day that is named is that day, even if it is too early */
        {"tomorrow 20:00", "tomorrow 08:00", "2026-11-21T08:00:00Z"},
        {"20:00", "now+1hour", "2026-11-20T15:30:00Z"},
        {"20:00", "2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"},
    };

    live_in("UTC");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char formatted[TIME_TEXT_SIZE];
        int64_t start_us = 0, us = 0;

        ck_assert_int_eq(
            time_expression_parse(cases[i].start, TIME_AHEAD, NOW * SECOND, &start_us, NULL), 0);
        ck_assert_int_eq(
            time_expression_parse_after(cases[i].end, NOW * SECOND, start_us, &us, NULL), 0);
        time_format(us, false, formatted);
        ck_assert_msg(strcmp(formatted, cases[i].expected) == 0, "case %zu: %s", i, formatted);
    }
}
END_TEST

SUITE("time_expression", the_same_words_mean_the_same_in_both_directions,
      ahead_a_time_is_the_next_one, back_a_time_is_the_last_one,
      a_wrong_time_is_refused_in_both_directions, a_mistake_is_told_with_what_may_be_meant,
      a_period_may_end_later_than_now, a_period_may_end_on_the_day_after_it_begins,
      clocks_and_days_are_local, a_time_that_clocks_leave_out_is_refused,
      of_a_time_that_comes_twice_the_direction_chooses)
