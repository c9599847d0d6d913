/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/run_history.h"

#include <math.h>

#include "testsuite/lib/suite.h"

static const struct run_kind hour = {.user = 1, .limit_s = 3600, .width = 4};

START_TEST(without_history_a_job_takes_its_limit)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();

    struct run_prediction p = run_history_predict(h, &hour);

    ck_assert_double_eq(p.run_s, 3600);
    ck_assert_double_eq(p.short_s, 3600);
}
END_TEST

START_TEST(a_user_who_repeats_a_job_is_known_soon)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();
    struct run_prediction first, later;

    run_history_add(h, &hour, 360);
    first = run_history_predict(h, &hour);
    for (unsigned i = 0; i < 20; i++)
        run_history_add(h, &hour, 360);
    later = run_history_predict(h, &hour);

    ck_assert_double_eq_tol(first.run_s, 360, 1e-6);
    ck_assert_double_eq_tol(later.run_s, 360, 1e-6);
    ck_assert_double_eq_tol(later.short_s, 360, 1e-6);
}
END_TEST

/* Computed by hand: the share of all users is 0.5, then 0.5+(0.1-0.5)/1.998;
 * the user's levels are empty.
 */
START_TEST(each_level_weighs_what_it_saw_against_those_before)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();
    struct run_kind other = {.user = 2, .limit_s = 3600, .width = 4};
    struct run_kind wider = {.user = 1, .limit_s = 3600, .width = 8};
    double all = 0.5 + (0.1 - 0.5) / 1.998, share = all;

    run_history_add(h, &other, 1800);
    run_history_add(h, &hour, 360);

    /* two of three levels have one observation */
    share = (0.1 + share) / 2;
    share = (0.1 + share) / 2;
    ck_assert_double_eq_tol(run_history_predict(h, &wider).run_s, share * 3600, 1e-6);
}
END_TEST

START_TEST(the_newest_runs_count_most)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();

    for (unsigned i = 0; i < 10; i++)
        run_history_add(h, &hour, 3600);
    for (unsigned i = 0; i < 10; i++)
        run_history_add(h, &hour, 36);

    ck_assert_double_lt(run_history_predict(h, &hour).run_s, 0.1 * 3600);
}
END_TEST

START_TEST(a_user_whose_jobs_crash_now_and_then_has_a_short_harmonic_mean)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();
    struct run_prediction p;

    for (unsigned i = 0; i < 10; i++)
        run_history_add(h, &hour, i % 2 == 0 ? 3600 : 1);
    p = run_history_predict(h, &hour);

    ck_assert_double_gt(p.run_s, 1000);
    ck_assert_double_lt(p.short_s, 100);
    ck_assert_double_ge(p.short_s, 10);
    ck_assert_double_eq_tol(run_prediction_key(&p), log(p.run_s) + log(p.short_s), 1e-9);
}
END_TEST

START_TEST(a_run_that_teaches_nothing_is_left_out)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();
    struct run_kind endless = {.user = 1, .width = 4};

    run_history_add(h, &hour, 0);
    run_history_add(h, &hour, -5);
    run_history_add(h, &endless, 100);
    /* longer than its limit: counts as the limit */
    run_history_add(h, &hour, 36000);

    ck_assert_double_eq(run_history_predict(h, &hour).run_s, 3600);
}
END_TEST

START_TEST(a_user_of_many_limits_forgets_the_oldest)
{
    CLEANUP(run_history_freep) struct run_history *h = run_history_new();
    struct run_kind kind = {.user = 1, .width = 1};
    struct run_kind other = {.user = 2, .limit_s = 1000, .width = 1};

    for (unsigned i = 0; i < 20; i++)
        run_history_add(h, &other, 100);
    for (unsigned i = 0; i < 20; i++)
        run_history_add(h, &(struct run_kind){.user = 1, .limit_s = 1000, .width = 1}, 100);
    for (int64_t i = 0; i < 2 * RUN_HISTORY_LEVELS; i++) {
        kind.limit_s = 2000 + i;
        run_history_add(h, &kind, kind.limit_s);
    }
    kind.limit_s = 1000;

    ck_assert_double_gt(run_history_predict(h, &kind).run_s, 900);
    ck_assert_double_lt(run_history_predict(h, &other).run_s, 150);
}
END_TEST

SUITE("run_history", without_history_a_job_takes_its_limit, a_user_who_repeats_a_job_is_known_soon,
      each_level_weighs_what_it_saw_against_those_before, the_newest_runs_count_most,
      a_user_whose_jobs_crash_now_and_then_has_a_short_harmonic_mean,
      a_run_that_teaches_nothing_is_left_out, a_user_of_many_limits_forgets_the_oldest)
