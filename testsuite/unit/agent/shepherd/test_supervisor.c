/* SPDX-License-Identifier: Apache-2.0 */
/* A real shepherd whose node is being shut down gets SIGTERM,
 * and no agent may be there any more.
 */
#include "agent/shepherd/supervisor.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

/* Writes its pid, so that a test can wait for it, and signal it. */
#define JOB(setup) \
    "exec 2>/dev/null; " setup "; echo $$ >part; mv part ready; while :; do sleep 0.01; done"

struct shut_down {
    struct test_pod pod;
    char *ready, *out;
    struct exit_record *exit_record;
};

static void
begin(struct shut_down *t, const char *job)
{
    test_pod_init(&t->pod);
    t->ready = xasprintf("%s/ready", t->pod.work_dir);
    test_pod_shell(&t->pod, job);
}

static void
start(struct shut_down *t)
{
    test_pod_start(&t->pod);
    test_pod_wait_for(t->ready);
}

static pid_t
job_of(const struct shut_down *t)
{
    CLEANUP_FREE char *text = test_pod_read(t->ready);

    return (pid_t)strtol(text, NULL, 10);
}

static void
terminate(const struct shut_down *t)
{
    ck_assert_int_eq(kill(t->pod.pid, SIGTERM), 0);
}

static void
wait_end(struct shut_down *t)
{
    ck_assert_int_eq(test_pod_wait(&t->pod), 0);
    t->exit_record = test_pod_ending(&t->pod);
    t->out = test_pod_read(t->pod.out);
}

static void
finish(struct shut_down *t)
{
    exit_record_free(t->exit_record);
    free(t->out);
    free(t->ready);
    test_pod_fini(&t->pod);
}

START_TEST(the_job_gets_sigterm_and_the_record_says_why)
{
    static const struct {
        const char *setup;
        int exit_code, signal;
    } cases[] = {
        {JOB("true"), 143, SIGTERM},
        {JOB("trap 'echo saved; exit 0' TERM"), 0, 0},
        {JOB("trap 'echo saved; exit 3' TERM"), 3, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct shut_down t;

        begin(&t, cases[i].setup);
        start(&t);
        terminate(&t);
        wait_end(&t);

        ck_assert_int_eq(t.exit_record->exit_code, cases[i].exit_code);
        ck_assert_int_eq(t.exit_record->signal, cases[i].signal);
        ck_assert_str_eq(t.out, i == 0 ? "" : "saved\n");
        ck_assert(t.exit_record->was_shut_down);
        ck_assert(!t.exit_record->was_ended);
        ck_assert(!t.exit_record->had_own_end);
        ck_assert(!t.exit_record->was_late);
        finish(&t);
    }
}
END_TEST

START_TEST(a_job_that_ignores_it_is_killed_after_the_grace_period)
{
    struct shut_down t;

    begin(&t, JOB("trap 'echo heard' TERM"));
    t.pod.order.shutdown_grace_ms = 300;
    t.pod.order.grace_ms = 600000;
    start(&t);
    terminate(&t);
    wait_end(&t);

    ck_assert_int_eq(t.exit_record->signal, SIGKILL);
    ck_assert_str_eq(t.out, "heard\n");
    ck_assert(t.exit_record->was_shut_down);
    ck_assert(!t.exit_record->was_late);
    finish(&t);
}
END_TEST

START_TEST(the_checkpoint_command_comes_first)
{
    struct shut_down t;

    begin(&t, JOB("trap 'echo heard; exit 0' TERM"));
    t.pod.order.checkpoint = "echo saves";
    start(&t);
    terminate(&t);
    wait_end(&t);

    ck_assert_str_eq(t.out, "saves\nheard\n");
    ck_assert(t.exit_record->has_checkpoint);
    ck_assert(t.exit_record->was_shut_down);
    finish(&t);
}
END_TEST

/* Whoever ends all processes of a unit may signal the job first. */
START_TEST(a_job_that_was_signalled_before_its_shepherd_was_shut_down_too)
{
    static const char *const jobs[] = {JOB("true"), JOB("trap 'exit 143' TERM")};

    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        struct shut_down t;

        begin(&t, jobs[i]);
        start(&t);
        ck_assert_int_eq(kill(job_of(&t), SIGTERM), 0);
        terminate(&t);
        wait_end(&t);

        ck_assert_int_eq(t.exit_record->exit_code, 143);
        ck_assert(t.exit_record->was_shut_down);
        finish(&t);
    }
}
END_TEST

START_TEST(a_job_that_only_its_user_signalled_was_not_shut_down)
{
    struct shut_down t;

    begin(&t, JOB("true"));
    start(&t);
    ck_assert_int_eq(kill(job_of(&t), SIGTERM), 0);
    wait_end(&t);

    ck_assert_int_eq(t.exit_record->signal, SIGTERM);
    ck_assert(!t.exit_record->was_shut_down);
    finish(&t);
}
END_TEST

START_TEST(an_order_of_the_agent_that_came_first_counts)
{
    struct shut_down t;

    begin(&t, JOB("trap 'echo heard' TERM"));
    t.pod.order.shutdown_grace_ms = 300;
    start(&t);
    ck_assert_int_eq(launch_signal(t.pod.pidfd, LAUNCH_ALL, SIGTERM, NULL), 0);
    test_pod_wait_for(t.pod.out);
    terminate(&t);
    wait_end(&t);

    ck_assert_int_eq(t.exit_record->signal, SIGKILL);
    ck_assert(t.exit_record->was_ended);
    ck_assert(!t.exit_record->was_shut_down);
    finish(&t);
}
END_TEST

START_TEST(a_time_limit_that_came_first_counts)
{
    struct shut_down t;

    begin(&t, JOB("trap 'echo heard' TERM"));
    t.pod.order.shutdown_grace_ms = 300;
    t.pod.order.grace_ms = 600000;
    start(&t);
    test_pod_pause(1100);
    ck_assert_int_eq(launch_set_limit(t.pod.pidfd, 1, NULL), 0);
    test_pod_wait_for(t.pod.out);
    terminate(&t);
    wait_end(&t);

    ck_assert(t.exit_record->was_late);
    ck_assert(!t.exit_record->was_shut_down);
    finish(&t);
}
END_TEST

START_TEST(a_job_that_has_not_begun_does_not_begin)
{
    CLEANUP_FREE char *fifo = NULL;
    struct shut_down t;

    begin(&t, "echo runs >ready");
    fifo = xasprintf("%s/fifo", t.pod.work_dir);
    ck_assert_int_eq(mkfifo(fifo, 0666), 0);
    ck_assert_int_eq(chmod(fifo, 0666), 0);
    t.pod.order.stdout_path = fifo;
    test_pod_start(&t.pod);
    test_pod_pause(300);
    terminate(&t);
    ck_assert_int_eq(test_pod_wait(&t.pod), 0);
    t.exit_record = test_pod_ending(&t.pod);
    t.out = NULL;

    ck_assert_str_eq(t.exit_record->failed_step, EXIT_RECORD_CALLED_OFF);
    ck_assert(t.exit_record->was_shut_down);
    ck_assert_int_eq(access(t.ready, F_OK), -1);
    finish(&t);
}
END_TEST

SUITE("supervisor", the_job_gets_sigterm_and_the_record_says_why,
      a_job_that_ignores_it_is_killed_after_the_grace_period, the_checkpoint_command_comes_first,
      a_job_that_was_signalled_before_its_shepherd_was_shut_down_too,
      a_job_that_only_its_user_signalled_was_not_shut_down,
      an_order_of_the_agent_that_came_first_counts, a_time_limit_that_came_first_counts,
      a_job_that_has_not_begun_does_not_begin)
