/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoint command, run by real shepherds. */
#include "agent/shepherd/deadline.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

#define GRACE_MS 2000 /* the command gets half of it */

/* Prints the signal that it gets, and then ends with 3. */
#define JOB(signal)                                                                         \
    "exec 2>/dev/null; echo begins; trap 'echo heard; exit 3' " signal "; echo x > ready; " \
    "while :; do sleep 0.01; done"

struct checked {
    struct test_pod pod;
    char *ready, *out;
    struct exit_record *exit_record;
};

static void
begin(struct checked *t, const char *job, const char *command)
{
    test_pod_init(&t->pod);
    t->ready = xasprintf("%s/ready", t->pod.work_dir);
    t->out = NULL;
    t->exit_record = NULL;
    t->pod.order.checkpoint = command;
    t->pod.order.grace_ms = GRACE_MS;
    test_pod_shell(&t->pod, job);
}

static void
start(struct checked *t)
{
    test_pod_start(&t->pod);
    test_pod_wait_for(t->ready);
}

static void
ask(struct checked *t)
{
    ck_assert_int_eq(launch_checkpoint(t->pod.pidfd, GRACE_MS, NULL), 0);
}

static void
wait_end(struct checked *t)
{
    ck_assert_int_eq(test_pod_wait(&t->pod), 0);
    t->exit_record = test_pod_ending(&t->pod);
    t->out = test_pod_read(t->pod.out);
}

static void
finish(struct checked *t)
{
    exit_record_free(t->exit_record);
    free(t->out);
    free(t->ready);
    test_pod_fini(&t->pod);
}

START_TEST(a_checkpoint_runs_before_the_job_is_told_as_its_user_and_where_it_runs)
{
    CLEANUP_FREE char *wanted = NULL;
    struct checked t;

    begin(&t, JOB("TERM"), "echo \"$WHAT $(id -u) $PWD\"; echo said >&2; exit 4");
    test_pod_variable(&t.pod, "WHAT=saves");
    wanted =
        xasprintf("begins\nsaves %u %s\nsaid\nheard\n", (unsigned)t.pod.order.uid, t.pod.work_dir);
    start(&t);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, wanted);
    ck_assert_int_eq(t.exit_record->exit_code, 3);
    ck_assert(t.exit_record->has_checkpoint);
    ck_assert(!t.exit_record->was_checkpoint_cut);
    ck_assert_int_eq(t.exit_record->checkpoint_code, 4);
    ck_assert_ptr_null(t.exit_record->checkpoint_failure);
    ck_assert(!t.exit_record->was_late);
    finish(&t);
}
END_TEST

START_TEST(a_checkpoint_runs_at_the_end_of_the_time_limit)
{
    struct checked t;

    begin(&t, JOB("TERM"), "echo saves");
    t.pod.order.time_limit_ms = 300;
    start(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "begins\nsaves\nheard\n");
    ck_assert(t.exit_record->was_late);
    ck_assert_int_eq(t.exit_record->checkpoint_code, 0);
    finish(&t);
}
END_TEST

START_TEST(the_signal_that_its_user_asked_for_comes_behind_it)
{
    struct checked t;

    begin(&t, JOB("USR1"), "echo saves");
    t.pod.order.warn_signal = SIGUSR1;
    t.pod.order.warn_main = true;
    start(&t);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "begins\nsaves\nheard\n");
    ck_assert_int_eq(t.exit_record->exit_code, 3);
    finish(&t);
}
END_TEST

START_TEST(an_agent_that_asks_again_has_it_run_once)
{
    struct checked t;

    begin(&t, JOB("TERM"), "echo saves; sleep 0.3");
    start(&t);
    ask(&t);
    ask(&t);
    test_pod_pause(100);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "begins\nsaves\nheard\n");
    finish(&t);
}
END_TEST

/* The job still gets its signal in time, and no process of the command remains.
 */
START_TEST(one_that_does_not_end_delays_nothing)
{
    static const char *const commands[] = {
        "trap '' TERM; echo $$ > left; while :; do sleep 0.01; done",
        "(trap '' TERM; sleep 100) & echo $! > left; wait",
        ("trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > left; "
         "while :; do sleep 0.01; done' & wait; while :; do sleep 0.01; done"),
        "trap '' TERM; echo $$ > left; while :; do echo more; done",
        "echo $$ > left; kill -STOP $$",
    };

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        CLEANUP_FREE char *left = NULL, *pid = NULL;
        struct checked t;

        begin(&t, JOB("TERM"), commands[i]);
        if (i == 3)
            t.pod.order.stderr_path = "/dev/null";
        left = xasprintf("%s/left", t.pod.work_dir);
        start(&t);
        ask(&t);
        wait_end(&t);

        pid = test_pod_read(left);
        ck_assert_int_eq(t.exit_record->exit_code, 3);
        ck_assert(t.exit_record->was_checkpoint_cut);
        ck_assert_int_eq(t.exit_record->checkpoint_code, 128 + SIGKILL);
        ck_assert(!t.exit_record->has_left_behind);
        ck_assert_int_eq(kill((pid_t)atoi(pid), 0), -1);
        finish(&t);
    }
}
END_TEST

START_TEST(a_job_that_ignores_its_end_is_killed_with_the_grace_of_its_limit)
{
    struct checked t;

    begin(&t, "trap '' TERM; echo x > ready; while :; do sleep 0.01; done",
          "trap '' TERM; while :; do sleep 0.01; done");
    t.pod.order.time_limit_ms = 300;
    start(&t);
    wait_end(&t);

    ck_assert_int_eq(t.exit_record->signal, SIGKILL);
    ck_assert(t.exit_record->was_late);
    ck_assert(t.exit_record->was_checkpoint_cut);
    finish(&t);
}
END_TEST

START_TEST(a_job_that_ends_meanwhile_leaves_it_its_time)
{
    struct checked t;

    begin(&t, "exec 2>/dev/null; trap 'exit 3' USR1; echo $$ > ready; while :; do sleep 0.01; done",
          "kill -USR1 $(cat ready); sleep 0.3; echo copied");
    start(&t);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "copied\n");
    ck_assert_int_eq(t.exit_record->exit_code, 3);
    ck_assert_int_eq(t.exit_record->checkpoint_code, 0);
    finish(&t);
}
END_TEST

START_TEST(later_output_of_the_job_does_not_overwrite_it)
{
    struct checked t;

    begin(&t,
          "exec 2>/dev/null; echo one; trap 'echo three; exit 0' TERM; echo x > ready; "
          "while :; do sleep 0.01; done",
          "echo two, which is longer");
    start(&t);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "one\ntwo, which is longer\nthree\n");
    finish(&t);
}
END_TEST

START_TEST(one_that_cannot_be_started_says_so_and_the_job_ends)
{
    struct checked t;

    begin(&t, JOB("TERM"), "echo never");
    start(&t);
    ck_assert_int_eq(chmod(t.pod.work_dir, 0), 0);
    ask(&t);
    ck_assert_int_eq(test_pod_wait(&t.pod), 0);
    t.exit_record = test_pod_ending(&t.pod);
    ck_assert_int_eq(t.exit_record->exit_code, 3);
    ck_assert_int_eq(t.exit_record->checkpoint_code, 125);
    ck_assert_int_eq(chmod(t.pod.work_dir, 0700), 0);
    finish(&t);
}
END_TEST

/* The job may exit with 0 because of the command, or of the signal after it. */
START_TEST(the_record_says_that_the_job_was_ended)
{
    static const char *const jobs[] = {
        "trap 'exit 0' TERM; echo x > ready; while :; do sleep 0.01; done",
        "trap 'exit 0' USR1; echo $$ > ready; while :; do sleep 0.01; done",
    };

    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        struct checked t;

        begin(&t, jobs[i], i == 0 ? "true" : "kill -USR1 $(cat ready); sleep 0.3");
        start(&t);
        ask(&t);
        wait_end(&t);

        ck_assert_int_eq(t.exit_record->exit_code, 0);
        ck_assert(t.exit_record->was_ended);
        finish(&t);
    }
}
END_TEST

START_TEST(a_job_without_one_is_told_at_once)
{
    struct checked t;

    begin(&t, JOB("TERM"), NULL);
    start(&t);
    ask(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "begins\nheard\n");
    ck_assert(!t.exit_record->has_checkpoint);
    finish(&t);
}
END_TEST

START_TEST(the_last_of_the_grace_is_the_jobs)
{
    ck_assert_int_eq(deadline_last_us(60000000), 5000000);
    ck_assert_int_eq(deadline_last_us(4000000), 2000000);
    ck_assert_int_eq(deadline_last_us(0), 0);
}
END_TEST

SUITE("checkpoint", a_checkpoint_runs_before_the_job_is_told_as_its_user_and_where_it_runs,
      a_checkpoint_runs_at_the_end_of_the_time_limit,
      the_signal_that_its_user_asked_for_comes_behind_it, an_agent_that_asks_again_has_it_run_once,
      one_that_does_not_end_delays_nothing,
      a_job_that_ignores_its_end_is_killed_with_the_grace_of_its_limit,
      a_job_that_ends_meanwhile_leaves_it_its_time, later_output_of_the_job_does_not_overwrite_it,
      one_that_cannot_be_started_says_so_and_the_job_ends, the_record_says_that_the_job_was_ended,
      a_job_without_one_is_told_at_once, the_last_of_the_grace_is_the_jobs)
