/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/shadow_schedule.h"

#include "testsuite/lib/suite.h"

static struct shadow_job *
submit(struct shadow_schedule *s, int64_t at_s, int64_t cpus, int64_t limit_s)
{
    struct shadow_job *j = shadow_schedule_submit(s, &(struct shadow_facts){
                                                         .mcpu = cpus * 1000,
                                                         .limit_s = limit_s,
                                                         .predicted_s = (double)limit_s,
                                                         .submit_s = at_s,
                                                     });

    shadow_schedule_settle(s, at_s);
    return j;
}

static struct shadow_schedule *
machine_of(int64_t cpus)
{
    struct shadow_schedule *s = shadow_schedule_new();

    shadow_schedule_set_machine(s, cpus * 1000);
    return s;
}

/* 4 CPUs: 3 are used until 100, and a wide job waits for them; a job that would
 * delay it waits until both are done, a short one is backfilled.
 */
START_TEST(jobs_pass_the_first_only_where_they_do_not_delay_it)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(4);

    submit(s, 0, 3, 100);
    submit(s, 10, 4, 100); /* 100 to 200 */
    submit(s, 20, 1, 100); /* would end at 120 */
    submit(s, 30, 1, 70);  /* ends at 100 */
    shadow_schedule_settle(s, 99);
    ck_assert_int_eq(shadow_schedule_longest_s(s), 89);
    shadow_schedule_settle(s, 250);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 180);
}
END_TEST

START_TEST(a_job_that_ended_early_ends_early_here)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(1);
    struct shadow_job *first = submit(s, 0, 1, 1000);

    shadow_schedule_begin(first, 0);
    submit(s, 10, 1, 1000);
    shadow_schedule_advance(s, 49);
    shadow_schedule_end(s, first, 50, 50);
    shadow_schedule_settle(s, 60);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 40);
}
END_TEST

START_TEST(a_job_that_runs_still_runs_here_too)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(1);
    struct shadow_job *first = shadow_schedule_submit(s, &(struct shadow_facts){
                                                             .mcpu = 1000,
                                                             .limit_s = 1000,
                                                             .predicted_s = 10,
                                                         });

    shadow_schedule_settle(s, 0);
    shadow_schedule_begin(first, 0);
    submit(s, 0, 1, 100);
    for (int64_t t = 1; t <= 400; t++)
        shadow_schedule_settle(s, t);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 400);
}
END_TEST

START_TEST(predictions_are_scaled_by_what_came_to_be)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(1);
    struct shadow_job *first = submit(s, 0, 1, 100);

    shadow_schedule_begin(first, 0);
    shadow_schedule_end(s, first, 50, 50); /* half of what was predicted */
    submit(s, 100, 1, 1000);               /* predicted to take 500 */
    submit(s, 100, 1, 10);
    shadow_schedule_settle(s, 2000);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 500);
}
END_TEST

START_TEST(a_job_that_goes_before_it_began_makes_room)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(1);
    struct shadow_job *first = submit(s, 0, 1, 1000);
    struct shadow_job *second = submit(s, 0, 1, 1000);

    submit(s, 0, 1, 1000);
    shadow_schedule_settle(s, 1);
    shadow_schedule_withdraw(s, second, 10);
    shadow_schedule_withdraw(s, first, 20);
    shadow_schedule_settle(s, 500);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 20);
}
END_TEST

START_TEST(a_job_wider_than_the_machine_holds_nobody_up)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(4);
    struct shadow_job *wide = submit(s, 0, 5, 100);

    submit(s, 0, 4, 100);
    submit(s, 0, 4, 100);
    shadow_schedule_settle(s, 300);
    shadow_schedule_withdraw(s, wide, 300);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 100);
}
END_TEST

START_TEST(nodes_that_leave_and_come_change_the_machine)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(2);

    submit(s, 0, 2, 100);
    shadow_schedule_settle(s, 1);
    shadow_schedule_set_machine(s, 1000);
    submit(s, 0, 1, 100);
    shadow_schedule_settle(s, 50);
    ck_assert_int_eq(shadow_schedule_longest_s(s), 50);
    shadow_schedule_set_machine(s, 3000);
    shadow_schedule_settle(s, 60);
    shadow_schedule_settle(s, 90);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 50);
}
END_TEST

START_TEST(after_a_restart_they_come_in_any_order)
{
    CLEANUP(shadow_schedule_freep) struct shadow_schedule *s = machine_of(1);

    shadow_schedule_adopt(s,
                          &(struct shadow_facts){
                              .mcpu = 1000,
                              .limit_s = 100,
                              .predicted_s = 100,
                              .submit_s = 0,
                          },
                          900);
    for (int64_t i = 0; i < 3; i++)
        shadow_schedule_submit(s, &(struct shadow_facts){
                                      .mcpu = 1000,
                                      .limit_s = 100,
                                      .predicted_s = 100,
                                      .submit_s = 930 - 10 * i,
                                  });
    shadow_schedule_settle(s, 950);
    shadow_schedule_settle(s, 1000);
    ck_assert_int_eq(shadow_schedule_longest_s(s), 90); /* from 910 */
    shadow_schedule_settle(s, 1100);
    shadow_schedule_settle(s, 1200);

    ck_assert_int_eq(shadow_schedule_longest_s(s), 270); /* from 930 */
}
END_TEST

SUITE("shadow_schedule", jobs_pass_the_first_only_where_they_do_not_delay_it,
      a_job_that_ended_early_ends_early_here, a_job_that_runs_still_runs_here_too,
      predictions_are_scaled_by_what_came_to_be, a_job_that_goes_before_it_began_makes_room,
      a_job_wider_than_the_machine_holds_nobody_up, nodes_that_leave_and_come_change_the_machine,
      after_a_restart_they_come_in_any_order)
