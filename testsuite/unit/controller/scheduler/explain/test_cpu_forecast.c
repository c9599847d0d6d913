/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/cpu_forecast.h"

#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

static int64_t
lay(struct cpu_forecast *f, int64_t cpus, int64_t run_us)
{
    unsigned cell = cpu_forecast_find(f, 1000 * cpus, run_us, 0);

    if (cell == CPU_FORECAST_CELLS)
        return -1;
    cpu_forecast_take(f, 1000 * cpus, run_us, cell);
    return cpu_forecast_begin_us(cell);
}

/* Within a thirty-second of the wanted time. */
static void
assert_near(int64_t at_us, int64_t wanted_us)
{
    ck_assert_int_le(at_us, wanted_us + wanted_us / 32);
    ck_assert_int_ge(at_us, wanted_us - wanted_us / 32);
}

START_TEST(a_cell_begins_where_the_one_before_it_ends)
{
    for (unsigned i = 0; i < CPU_FORECAST_CELLS; i++) {
        int64_t begin_us = cpu_forecast_begin_us(i);
        int64_t end_us = cpu_forecast_begin_us(i + 1);

        ck_assert_int_lt(begin_us, end_us);
        ck_assert_uint_eq(cpu_forecast_cell(begin_us), i);
        ck_assert_uint_eq(cpu_forecast_cell(end_us - 1), i);
        ck_assert_int_le(end_us - begin_us, begin_us < 64 * SECOND ? SECOND : begin_us / 32);
    }
    ck_assert_int_gt(cpu_forecast_begin_us(CPU_FORECAST_CELLS), 365 * DAY);
    ck_assert_uint_eq(cpu_forecast_cell(-SECOND), 0);
    ck_assert_uint_eq(cpu_forecast_cell(INT64_MAX), CPU_FORECAST_CELLS);
}
END_TEST

START_TEST(who_waits_gets_cpus_when_enough_have_come_free)
{
    struct cpu_forecast f;

    cpu_forecast_begin(&f);
    cpu_forecast_add(&f, 1000, 0);
    cpu_forecast_add(&f, 1000, HOUR);
    cpu_forecast_add(&f, 2000, 2 * HOUR);
    cpu_forecast_settle(&f);

    ck_assert_int_eq(lay(&f, 5, HOUR), -1);
    assert_near(lay(&f, 4, HOUR), 2 * HOUR);
    ck_assert_int_eq(lay(&f, 1, 2 * HOUR), 0); /* ends when the others begin */
    assert_near(lay(&f, 1, HOUR - 10 * SECOND), HOUR);
    assert_near(lay(&f, 1, DAY), 3 * HOUR);
}
END_TEST

START_TEST(cpus_that_never_come_free_are_waited_for_by_nobody)
{
    struct cpu_forecast f;

    cpu_forecast_begin(&f);
    cpu_forecast_add(&f, 1000, INT64_MAX);
    cpu_forecast_add(&f, 1000, 0);
    cpu_forecast_settle(&f);

    ck_assert_int_eq(lay(&f, 2, SECOND), -1);
    ck_assert_int_eq(lay(&f, 1, SECOND), 0);
}
END_TEST

START_TEST(short_jobs_that_take_turns_take_their_time_together)
{
    struct cpu_forecast f;
    int64_t at_us = 0;

    cpu_forecast_begin(&f);
    cpu_forecast_add(&f, 2000, 0);
    cpu_forecast_settle(&f);
    for (unsigned i = 0; i < 2000; i++)
        at_us = lay(&f, 1, 10 * SECOND);

    assert_near(at_us, 9990 * SECOND);
}
END_TEST

START_TEST(a_run_beyond_the_last_cell_takes_what_there_is)
{
    struct cpu_forecast f;

    cpu_forecast_begin(&f);
    cpu_forecast_add(&f, 1000, 0);
    cpu_forecast_settle(&f);

    ck_assert_int_eq(lay(&f, 1, INT64_MAX), 0);
    ck_assert_int_eq(lay(&f, 1, SECOND), -1);
}
END_TEST

SUITE("scheduler/cpu_forecast", a_cell_begins_where_the_one_before_it_ends,
      who_waits_gets_cpus_when_enough_have_come_free,
      cpus_that_never_come_free_are_waited_for_by_nobody,
      short_jobs_that_take_turns_take_their_time_together,
      a_run_beyond_the_last_cell_takes_what_there_is)
