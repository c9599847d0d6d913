/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/log_model.h"

#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/replay/job_log.h"

#define WEEK_S 604800

static double
load_of(const struct job_log *log, unsigned procs)
{
    double area = 0;

    for (size_t i = 0; i < log->count; i++)
        area += (double)log->jobs[i].procs * (double)log->jobs[i].run_s;
    return area / procs / (double)log->jobs[log->count - 1].submit_s;
}

static void
assert_runnable(const struct job_log *log, unsigned procs)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct log_job *j = &log->jobs[i];

        ck_assert_int_ge(j->run_s, 1);
        ck_assert_int_le(j->run_s, j->limit_s);
        ck_assert_uint_ge(j->procs, 1);
        ck_assert_uint_le(j->procs, procs);
        ck_assert(i == 0 || j->submit_s >= log->jobs[i - 1].submit_s);
    }
}

/* The source has two users and three weeks. */
static struct job_log
make_source(void)
{
    struct job_log log = {0};

    for (int64_t i = 0; i < 30; i++)
        job_log_add(&log, &(struct log_job){
                              .id = i + 1,
                              .submit_s = i * WEEK_S / 10,
                              .run_s = 100,
                              .limit_s = 200,
                              .user = 3 + i % 2,
                              .procs = (unsigned)(1 + i % 4),
                              .start_s = -1,
                          });
    return log;
}

START_TEST(the_model_makes_jobs_that_can_run_at_the_load_asked_for)
{
    struct random_source random = {.state = 1};
    struct job_log log = {0};

    log_model_lublin(&log, &random, 2000, 64);
    log_model_load(&log, 0.7, 64);

    ck_assert_uint_eq(log.count, 2000);
    assert_runnable(&log, 64);
    ck_assert_double_eq_tol(load_of(&log, 64), 0.7, 1e-4);
    job_log_fini(&log);
}
END_TEST

START_TEST(the_same_seed_makes_the_same_log)
{
    struct random_source first = {.state = 7}, second = {.state = 7};
    struct job_log a = {0}, b = {0};

    log_model_lublin(&a, &first, 500, 64);
    log_model_lublin(&b, &second, 500, 64);

    for (size_t i = 0; i < 500; i++) {
        ck_assert_int_eq(a.jobs[i].submit_s, b.jobs[i].submit_s);
        ck_assert_int_eq(a.jobs[i].run_s, b.jobs[i].run_s);
        ck_assert_int_eq(a.jobs[i].user, b.jobs[i].user);
    }
    job_log_fini(&a);
    job_log_fini(&b);
}
END_TEST

START_TEST(users_are_drawn_with_all_their_jobs)
{
    struct random_source random = {.state = 1};
    struct job_log log = {0}, source = make_source();

    log_model_users(&log, &random, &source, 2, 3);
    log_model_load(&log, 0, 3);

    ck_assert_uint_eq(log.count, 60);
    assert_runnable(&log, 3);
    ck_assert_int_eq(log.jobs[0].submit_s, 0);
    for (size_t i = 0; i < log.count; i++)
        ck_assert_int_le(log.jobs[i].user, 4);
    job_log_fini(&log);
    job_log_fini(&source);
}
END_TEST

START_TEST(weeks_follow_one_another)
{
    struct random_source random = {.state = 1};
    struct job_log log = {0}, source = make_source();

    log_model_weeks(&log, &random, &source, 5);

    ck_assert_uint_eq(log.count, 50);
    assert_runnable(&log, 4);
    for (size_t i = 0; i < log.count; i++)
        ck_assert_int_eq(log.jobs[i].submit_s / WEEK_S, (int64_t)i / 10);
    job_log_fini(&log);
    job_log_fini(&source);
}
END_TEST

START_TEST(widths_are_scaled_up_to_the_machine)
{
    struct job_log log = {0}, source = make_source();

    log_model_scale(&log, &source, 1.5, 5);

    ck_assert_uint_eq(log.jobs[0].procs, 2);
    ck_assert_uint_eq(log.jobs[1].procs, 3);
    ck_assert_uint_eq(log.jobs[3].procs, 5);
    job_log_fini(&log);
    job_log_fini(&source);
}
END_TEST

SUITE("log_model", the_model_makes_jobs_that_can_run_at_the_load_asked_for,
      the_same_seed_makes_the_same_log, users_are_drawn_with_all_their_jobs,
      weeks_follow_one_another, widths_are_scaled_up_to_the_machine)
