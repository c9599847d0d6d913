/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of real shepherds that another process of their user traces, so that
 * they cannot be reaped, or do not die.
 */
#include "agent/shepherd/child_end.h"

#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

struct held {
    struct test_pod pod;
    char *ready;
    pid_t tracer;
};

/* A process of the job's user that traces the job. A signal would stop the job,
 * so it has no children that end meanwhile.
 */
static pid_t
trace(const struct held *h, long options)
{
    CLEANUP_FREE char *text = test_pod_read(h->ready);
    pid_t job = (pid_t)atoi(text);
    char answer = 'n';
    int ends[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (test_pod_is_root() && (setgid(TEST_POD_UID) < 0 || setuid(TEST_POD_UID) < 0))
            _exit(1);
        if (ptrace(PTRACE_SEIZE, job, NULL, options) == 0)
            answer = 'y';
        if (write(ends[1], &answer, 1) == 1)
            pause();
        _exit(1);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &answer, 1), 1);
    close(ends[0]);
    if (answer != 'y') {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return 0;
    }
    return pid;
}

/* False where users cannot trace. */
static bool
begin(struct held *h, const char *commands, int64_t limit_ms, long options)
{
    CLEANUP_FREE char *job = xasprintf("mkfifo go; echo $$ >ready; %s", commands);

    test_pod_init(&h->pod);
    h->ready = xasprintf("%s/ready", h->pod.work_dir);
    h->pod.order.time_limit_ms = limit_ms;
    h->pod.order.grace_ms = 100;
    test_pod_shell(&h->pod, job);
    test_pod_start(&h->pod);
    test_pod_wait_for(h->ready);
    h->tracer = trace(h, options);
    return h->tracer > 0;
}

static void
finish(struct held *h)
{
    int status;

    if (h->tracer > 0) {
        kill(h->tracer, SIGKILL);
        waitpid(h->tracer, &status, 0);
    }
    free(h->ready);
    test_pod_fini(&h->pod);
}

/* The shepherd's own end is awaited for a minute. */
static struct exit_record *
wait_end(struct held *h)
{
    ck_assert_int_eq(test_pod_wait(&h->pod), 0);
    return test_pod_ending(&h->pod);
}

static bool
is_alive(const struct held *h)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)h->tracer, &info, WEXITED | WNOHANG | WNOWAIT) == 0
           && info.si_pid == 0;
}

START_TEST(a_traced_job_that_ends_by_itself_has_its_exit_code)
{
    struct exit_record *e;
    struct held h;

    if (!begin(&h, "read line <go; exit 3", 0, 0)) {
        launch_signal(h.pod.pidfd, LAUNCH_ALL, SIGKILL, NULL);
        exit_record_free(wait_end(&h));
        finish(&h);
        SKIP("users may not trace here");
    }
    CLEANUP_FREE char *go = xasprintf("%s/go", h.pod.work_dir);
    CLEANUP_FD int fd = open(go, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(fd_write_all(fd, "x\n", 2), 0);
    e = wait_end(&h);

    ck_assert_int_eq(e->exit_code, 3);
    ck_assert(!e->has_left_behind);
    ck_assert(is_alive(&h));
    exit_record_free(e);
    finish(&h);
}
END_TEST

START_TEST(a_traced_job_ends_at_its_time_limit)
{
    struct exit_record *e;
    struct held h;

    if (!begin(&h, "exec sleep 1000", 500, 0)) {
        exit_record_free(wait_end(&h));
        finish(&h);
        SKIP("users may not trace here");
    }
    e = wait_end(&h);

    ck_assert(e->was_late);
    ck_assert_int_ne(e->signal, 0);
    ck_assert(!e->has_left_behind);
    exit_record_free(e);
    finish(&h);
}
END_TEST

/* Such a process is not dead, and a second SIGKILL has no effect on it. */
START_TEST(a_job_that_its_user_stops_at_its_exit_dies_with_the_tracer)
{
    struct exit_record *e;
    struct held h;

    if (!begin(&h, "trap '' TERM; exec sleep 1000", 500, PTRACE_O_TRACEEXIT)) {
        exit_record_free(wait_end(&h));
        finish(&h);
        SKIP("users may not trace here");
    }
    e = wait_end(&h);

    ck_assert(e->was_late);
    ck_assert_int_eq(e->signal, SIGKILL);
    ck_assert(!e->has_left_behind);
    ck_assert(!is_alive(&h));
    exit_record_free(e);
    finish(&h);
}
END_TEST

SUITE("child_end", a_traced_job_that_ends_by_itself_has_its_exit_code,
      a_traced_job_ends_at_its_time_limit,
      a_job_that_its_user_stops_at_its_exit_dies_with_the_tracer)
