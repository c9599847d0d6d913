/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/steps.h"

#include <check.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

START_TEST(each_step_takes_what_passed_since_the_one_before)
{
    struct fake_clock time = FAKE_CLOCK;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct steps s;

    steps_begin(&s, &time.clock);
    fake_clock_advance(&time, 2000);
    steps_mark(&s, STEP_SNAPSHOT);
    fake_clock_advance(&time, 163000);
    steps_mark(&s, STEP_FILTER);
    steps_format(&s, &text);

    ck_assert_str_eq(text.text, "Snapshot 2 ms, Filter 163 ms");
    ck_assert_int_eq(steps_total_us(&s), 165000);
}
END_TEST

START_TEST(a_step_that_runs_twice_took_both_times)
{
    struct fake_clock time = FAKE_CLOCK;
    struct steps s;

    steps_begin(&s, &time.clock);
    fake_clock_advance(&time, 1000);
    steps_mark(&s, STEP_FILTER);
    fake_clock_advance(&time, 500);
    steps_mark(&s, STEP_FILTER);

    ck_assert_int_eq(s.took_us[STEP_FILTER], 1500);
}
END_TEST

START_TEST(a_step_that_did_not_run_is_not_told)
{
    struct fake_clock time = FAKE_CLOCK;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct steps s;

    steps_begin(&s, &time.clock);
    steps_mark(&s, STEP_RESERVE);
    steps_format(&s, &text);

    ck_assert_str_eq(text.text, "Reserve 0 ms");
}
END_TEST

SUITE("steps",
      each_step_takes_what_passed_since_the_one_before,
      a_step_that_runs_twice_took_both_times,
      a_step_that_did_not_run_is_not_told)
