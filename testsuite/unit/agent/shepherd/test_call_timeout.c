/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/call_timeout.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

/* A child that blocks all signals, like a shepherd, and then hangs, or not,
 * while the timeout runs. Returns its exit status.
 */
static int
run(const struct test_pod *p, bool hangs)
{
    CLEANUP_FREE char *temporary = xasprintf("%s/exit.late", p->state_dir);
    CLEANUP_FREE char *final = xasprintf("%s/exit", p->state_dir);
    struct call_timeout d = {p->state_dir, temporary, final, "late", 4};
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        sigset_t all;

        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        if (call_timeout_start(&d, 50) < 0)
            _exit(99);
        while (hangs)
            pause();
        call_timeout_stop();
        test_pod_pause(150);
        _exit(7);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_call_that_hangs_is_ended_and_recorded)
{
    struct test_pod p;
    CLEANUP_FREE char *path = NULL;
    CLEANUP_FREE char *text = NULL;

    test_pod_init(&p);
    path = xasprintf("%s/exit", p.state_dir);

    ck_assert_int_eq(run(&p, true), 0);

    text = test_pod_read(path);
    ck_assert_str_eq(text, "late");
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_call_that_comes_back_in_time_leaves_nothing)
{
    struct test_pod p;

    test_pod_init(&p);

    ck_assert_int_eq(run(&p, false), 7);

    ck_assert_int_eq(rmdir(p.state_dir), 0);
    test_pod_fini(&p);
}
END_TEST

SUITE("call_timeout", a_call_that_hangs_is_ended_and_recorded,
      a_call_that_comes_back_in_time_leaves_nothing)
