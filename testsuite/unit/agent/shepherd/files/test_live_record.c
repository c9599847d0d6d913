/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/live_record.h"

#include <check.h>

#include "lib/api/pod/pod_signal.h"
#include "lib/base/clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static char *
read_boot_id(void)
{
    char *boot = test_pod_read("/proc/sys/kernel/random/boot_id");

    boot[strcspn(boot, "\n")] = '\0';
    return boot;
}

START_TEST(a_running_shepherd_is_recognised_and_can_be_spoken_to)
{
    struct test_pod p;
    struct live_record *l = NULL;
    struct exit_record *e;
    CLEANUP_FREE char *boot = read_boot_id();
    CLEANUP_FREE char *ready = NULL;
    int64_t boot_us = clock_boottime_us();
    int fd;

    test_pod_init(&p);
    ready = xasprintf("%s/ready", p.work_dir);
    test_pod_shell(&p, "echo x > ready; sleep 1000");
    test_pod_start(&p);
    test_pod_wait_for(ready);

    for (int i = 0; i < 300 && (l == NULL || l->phase != LIVE_RUNNING); i++) {
        live_record_free(l);
        l = NULL;
        ck_assert_int_eq(live_record_read(p.run_dir, &l, NULL), 0);
        test_pod_pause(10);
    }
    fd = live_record_open(l, boot);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(l->phase, LIVE_RUNNING);
    ck_assert_str_eq(l->pod_uid, "uid-1");
    ck_assert_int_eq(l->shepherd_pid, p.pid);
    ck_assert_int_gt(l->job_pid, 1);
    ck_assert_int_gt(l->job_start, 0);
    ck_assert_int_gt(l->started_at_us, 0);
    ck_assert_int_gt(live_record_started_boot_us(l), boot_us);
    ck_assert_int_le(live_record_started_boot_us(l), clock_boottime_us());
    ck_assert_ptr_nonnull(l->cpus_allowed);
    ck_assert_int_eq(launch_signal(fd, LAUNCH_ALL, SIGKILL, NULL), 0);
    ck_assert_int_eq(test_pod_wait(&p), 0);
    ck_assert_int_eq(launch_signal(fd, LAUNCH_ALL, SIGKILL, NULL), -ESRCH);
    ck_assert_int_eq(live_record_open(l, boot), -ESRCH);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->signal, SIGKILL);
    exit_record_free(e);
    close(fd);
    live_record_free(l);
    test_pod_fini(&p);
}
END_TEST

/* Without a cgroup, so the job is frozen by SIGSTOP. */
START_TEST(a_job_stands_still_and_goes_on_and_ends_while_it_stands)
{
    struct test_pod p;
    struct live_record *l = NULL;
    CLEANUP_FREE char *ready = NULL;
    struct exit_record *e;
    int fd;

    test_pod_init(&p);
    ready = xasprintf("%s/ready", p.work_dir);
    test_pod_shell(&p, "echo x > ready; while :; do sleep 0.01; done");
    test_pod_start(&p);
    test_pod_wait_for(ready);
    for (int at = 0; at < 3; at++) {
        bool still = at != 1;

        while (l == NULL || (l->frozen_at_us != 0) != still) {
            live_record_free(l);
            l = NULL;
            ck_assert_int_eq(live_record_read(p.run_dir, &l, NULL), 0);
            CLEANUP_FREE char *boot = read_boot_id();
            fd = live_record_open(l, boot);
            ck_assert_int_ge(fd, 0);
            ck_assert_int_eq(launch_set_frozen(fd, still, NULL), 0);
            test_pod_pause(10);
            close(fd);
        }
        ck_assert_int_eq(l->keeps_limit, LIVE_CAN_SIGNAL);
        ck_assert((l->frozen_us > 0) == (at > 0));
    }
    CLEANUP_FREE char *boot = read_boot_id();
    fd = live_record_open(l, boot);
    ck_assert_int_eq(launch_signal(fd, LAUNCH_ALL, SIGTERM, NULL), 0);
    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->signal, SIGTERM);
    exit_record_free(e);
    close(fd);
    live_record_free(l);
    test_pod_fini(&p);
}
END_TEST

static void
wait_for_text(const char *path, const char *expected)
{
    for (int i = 0; i < 3000; i++) {
        CLEANUP_FREE char *text = test_pod_read(path);

        if (text != NULL && strcmp(text, expected) == 0)
            return;
        test_pod_pause(10);
    }
    ck_abort_msg("%s never had: %s", path, expected);
}

/* A shell that gets two signals at once may run its trap once, so each is waited for. */
START_TEST(a_signal_of_the_user_is_sent_once_and_is_no_order_to_end)
{
    struct test_pod p;
    struct live_record *l = NULL;
    struct exit_record *e;
    CLEANUP_FREE char *got = NULL;
    CLEANUP_FREE char *boot = read_boot_id();
    struct pod_signal usr1 = {.sequence = 1, .number = SIGUSR1, .target = POD_SIGNAL_SCRIPT};
    struct pod_signal kill_all = {.sequence = 4, .number = SIGKILL, .target = POD_SIGNAL_ALL};
    int fd;

    test_pod_init(&p);
    got = xasprintf("%s/got", p.work_dir);
    test_pod_shell(&p, "trap 'echo 1 >> got' USR1; trap 'echo 2 >> got' USR2\n"
                       "echo 0 > got; while :; do sleep 0.01; done");
    test_pod_start(&p);
    test_pod_wait_for(got);
    wait_for_text(got, "0\n");
    for (int i = 0; i < 3000 && (l == NULL || l->phase != LIVE_RUNNING); i++) {
        live_record_free(l);
        l = NULL;
        ck_assert_int_eq(live_record_read(p.run_dir, &l, NULL), 0);
        test_pod_pause(10);
    }
    ck_assert_int_ge(l->keeps_limit, LIVE_CAN_SIGNAL);
    fd = live_record_open(l, boot);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(launch_user_signal(fd, &usr1, NULL), 0);
    wait_for_text(got, "0\n1\n");
    ck_assert_int_eq(launch_user_signal(fd, &usr1, NULL), 0);
    usr1.sequence = 2;
    usr1.number = SIGUSR2;
    ck_assert_int_eq(launch_user_signal(fd, &usr1, NULL), 0);
    wait_for_text(got, "0\n1\n2\n");
    /* without the script: only the sleep gets it */
    usr1 = (struct pod_signal){.sequence = 3, .number = SIGUSR1, .target = POD_SIGNAL_CHILDREN};
    ck_assert_int_eq(launch_user_signal(fd, &usr1, NULL), 0);
    ck_assert_int_eq(launch_user_signal(fd, &kill_all, NULL), 0);
    ck_assert_int_eq(test_pod_wait(&p), 0);
    wait_for_text(got, "0\n1\n2\n");
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->signal, SIGKILL);
    ck_assert(!e->was_ended);
    exit_record_free(e);
    close(fd);
    live_record_free(l);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_recycled_pid_is_not_taken_for_a_shepherd)
{
    CLEANUP_FREE char *boot = read_boot_id();
    struct live_record l = {.boot_id = boot, .shepherd_pid = getpid()};
    char other[] = "another boot";
    int fd;

    ck_assert_int_eq(live_record_read_start(getpid(), &l.shepherd_start), 0);
    fd = live_record_open(&l, boot);
    ck_assert_int_ge(fd, 0);
    close(fd);

    ck_assert_int_eq(live_record_open(&l, other), -ESRCH);
    l.shepherd_start++;
    ck_assert_int_eq(live_record_open(&l, boot), -ESRCH);
    l.shepherd_pid = 0;
    ck_assert_int_eq(live_record_open(&l, boot), -ESRCH);
}
END_TEST

START_TEST(the_start_time_is_read_past_a_strange_name)
{
    int64_t start = 0;
    int64_t own = 0;
    pid_t pid;

    ck_assert_int_eq(live_record_read_start(getpid(), &own), 0);
    pid = fork();
    if (pid == 0) {
        FILE *comm = fopen("/proc/self/comm", "w");

        if (comm != NULL) {
            fputs(") R 1 (x", comm);
            fclose(comm);
        }
        for (;;)
            pause();
    }
    test_pod_pause(50);

    ck_assert_int_eq(live_record_read_start(pid, &start), 0);

    ck_assert_int_ge(start, own);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(live_record_read_start(pid, &start), -ESRCH);
}
END_TEST

START_TEST(a_state_that_cannot_be_read_is_refused)
{
    static const char *const texts[] = {
        "",
        "kiln-live 1\n",
        "kiln-live 2\nend=0:\n",
        "kiln-live 1\nend=0:\n",
        "kiln-live 1\npod_uid=1:u\nboot_id=1:b\nphase=5:dying\nend=0:\n",
        "kiln-live 1\npod_uid=1:u\nboot_id=1:b\njob_pid=1:x\nend=0:\n",
    };
    struct test_pod p;
    CLEANUP_FREE char *path = NULL;
    struct live_record *l = NULL;

    test_pod_init(&p);
    path = xasprintf("%s/live", p.run_dir);
    ck_assert_int_eq(live_record_read(p.run_dir, &l, NULL), -ENOENT);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = {0};

        file_write_atomic(path, 0600, texts[i], strlen(texts[i]), NULL);
        ck_assert_int_lt(live_record_read(p.run_dir, &l, &err), 0);
        ck_assert_ptr_nonnull(strstr(err.text, path));
    }
    ck_assert_ptr_null(l);
    test_pod_fini(&p);
}
END_TEST

/* A shepherd of an earlier release does not record it. */
START_TEST(without_a_record_the_start_is_that_of_the_process)
{
    struct live_record l = {.job_start = 12345};

    ck_assert_int_eq(live_record_started_boot_us(&l),
                     INT64_C(12345) * 1000000 / sysconf(_SC_CLK_TCK));
    l.started_boot_us = 7;
    ck_assert_int_eq(live_record_started_boot_us(&l), 7);
}
END_TEST

SUITE("live_record", without_a_record_the_start_is_that_of_the_process,
      a_running_shepherd_is_recognised_and_can_be_spoken_to,
      a_job_stands_still_and_goes_on_and_ends_while_it_stands,
      a_signal_of_the_user_is_sent_once_and_is_no_order_to_end,
      a_recycled_pid_is_not_taken_for_a_shepherd, the_start_time_is_read_past_a_strange_name,
      a_state_that_cannot_be_read_is_refused)
