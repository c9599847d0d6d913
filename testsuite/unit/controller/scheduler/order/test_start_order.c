/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/start_order.h"

#include "testsuite/lib/suite.h"

static struct order_job *
submit(struct start_order *o, int64_t user, int64_t cpus, int64_t limit_s, int64_t at_s)
{
    return start_order_submit(o, &(struct order_facts){
                                     .user = user,
                                     .limit_s = limit_s,
                                     .mcpu = cpus * 1000,
                                     .submit_s = at_s,
                                 });
}

static struct start_order *
machine_of(int64_t cpus)
{
    struct start_order *o = start_order_new();

    start_order_set_machine(o, cpus * 1000);
    return o;
}

static void
learn(struct start_order *o, int64_t user, int64_t limit_s, int64_t run_s)
{
    for (unsigned i = 0; i < 10; i++)
        start_order_learn(o,
                          &(struct order_facts){
                              .user = user,
                              .limit_s = limit_s,
                              .mcpu = 1000,
                          },
                          0, run_s);
}

static double
predict(const struct start_order *o, const struct order_job *job)
{
    bool is_guarded;

    return start_order_predict_s(o, job, &is_guarded);
}

START_TEST(a_user_of_short_jobs_goes_first)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *of_short, *of_long;

    learn(o, 1, 3600, 3600);
    learn(o, 2, 3600, 60);
    of_long = submit(o, 1, 1, 3600, 0);
    of_short = submit(o, 2, 1, 3600, 0);

    ck_assert_double_lt(start_order_rank(o, of_short, 1).key, start_order_rank(o, of_long, 1).key);
    ck_assert_double_lt(predict(o, of_short), 600);
}
END_TEST

START_TEST(without_history_the_shorter_limit_goes_first)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *hours = submit(o, 1, 1, 7200, 0);
    struct order_job *hour = submit(o, 2, 1, 3600, 0);
    struct order_job *endless = submit(o, 3, 1, 0, 0);

    ck_assert_double_lt(start_order_rank(o, hour, 1).key, start_order_rank(o, hours, 1).key);
    ck_assert_double_lt(start_order_rank(o, hours, 1).key, start_order_rank(o, endless, 1).key);
}
END_TEST

START_TEST(the_end_of_a_job_teaches)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *first = submit(o, 1, 1, 3600, 0);
    struct order_job *second = submit(o, 1, 1, 3600, 0);

    start_order_begin(o, first, 0);
    start_order_end(o, first, 0, 60);

    ck_assert_double_eq_tol(predict(o, second), 60, 1e-6);
}
END_TEST

/* The machine is full for a day, so that the wait under EASY is the job's own.
 */
START_TEST(a_job_that_waits_too_long_is_guarded_until_it_starts)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *runs = submit(o, 1, 1, 600, 0);
    struct order_job *waits, *comes;

    start_order_begin(o, runs, 0);
    waits = submit(o, 2, 1, 86400, 0);
    ck_assert(!start_order_rank(o, waits, 0).is_guarded);
    ck_assert(start_order_rank(o, waits, 601).is_guarded);

    comes = submit(o, 1, 1, 600, 602);
    ck_assert(!start_order_rank(o, comes, 602).is_guarded);
    ck_assert(start_order_rank(o, waits, 603).is_guarded);
}
END_TEST

START_TEST(the_time_until_there_is_room_counts_as_waited)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(4);
    struct order_job *wide, *narrow;

    start_order_begin(o, submit(o, 1, 3, 3600, 0), 0);
    wide = submit(o, 2, 4, 60, 0);
    narrow = submit(o, 2, 1, 60, 0);

    ck_assert(start_order_rank(o, wide, 0).is_guarded);
    ck_assert(!start_order_rank(o, narrow, 0).is_guarded);
}
END_TEST

START_TEST(nobody_is_guarded_sooner_than_easy_would_start_others)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *runs = submit(o, 1, 1, 86400, 0);
    struct order_job *waits;

    start_order_begin(o, runs, 0);
    waits = submit(o, 1, 1, 600, 0);
    ck_assert(start_order_rank(o, waits, 80000).is_guarded);
    start_order_end(o, runs, 0, 86400);
    waits = submit(o, 2, 1, 600, 86400);

    ck_assert(!start_order_rank(o, waits, 86400 + 40000).is_guarded);
    ck_assert(start_order_rank(o, waits, 86400 + 60000).is_guarded);
}
END_TEST

START_TEST(a_restart_does_not_guard_all_that_waits)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_facts past = {.user = 1, .limit_s = 600, .mcpu = 1000};
    struct order_job *waits;

    start_order_learn(o, &past, 90000, 600); /* the duration of its wait */
    waits = submit(o, 2, 1, 600, 0);

    ck_assert(!start_order_rank(o, waits, 50000).is_guarded);
    ck_assert(start_order_rank(o, waits, 60000).is_guarded);
}
END_TEST

START_TEST(jobs_come_and_go_in_any_state)
{
    CLEANUP(start_order_freep) struct start_order *o = machine_of(1);
    struct order_job *adopted = start_order_adopt(o,
                                                  &(struct order_facts){
                                                      .user = 1,
                                                      .limit_s = 600,
                                                      .mcpu = 1000,
                                                  },
                                                  100);
    struct order_job *gone = submit(o, 1, 1, 600, 100);
    struct order_job *left = submit(o, 1, 1, 600, 100);

    start_order_end(o, gone, 0, 110);
    start_order_end(o, adopted, 0, 160);

    ck_assert_double_eq_tol(predict(o, left), 60, 1e-6);
}
END_TEST

SUITE("start_order", a_user_of_short_jobs_goes_first, without_history_the_shorter_limit_goes_first,
      the_end_of_a_job_teaches, a_job_that_waits_too_long_is_guarded_until_it_starts,
      the_time_until_there_is_room_counts_as_waited,
      nobody_is_guarded_sooner_than_easy_would_start_others,
      a_restart_does_not_guard_all_that_waits, jobs_come_and_go_in_any_state)
