/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/descendants.h"

#include <check.h>
#include <sys/prctl.h>

#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

START_TEST(grandchildren_in_other_sessions_are_found)
{
    int status;
    pid_t child;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    ck_assert_int_eq(descendants_signal(0), 0);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            if (fork() == 0) {
                setsid();
                for (;;)
                    pause();
            }
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);

    ck_assert_int_eq(descendants_signal(SIGKILL), 3);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_gt(waitpid(-1, &status, 0), 0);
        ck_assert(WIFSIGNALED(status));
    }
    ck_assert_int_eq(descendants_signal(0), 0);
}
END_TEST

START_TEST(a_parent_whose_child_is_stopped_in_vfork_counts_as_still)
{
    int status;
    pid_t child;

    if (IS_THREAD_SANITIZED)
        SKIP("the thread sanitizer's vfork is a fork, and does not wait");
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    child = fork();
    if (child == 0) {
        if (vfork() == 0) {
            raise(SIGSTOP);
            _exit(0);
        }
        _exit(0);
    }
    /* If it were stopped before it has a child, it would never have one. */
    while (descendants_signal(0) < 2 || descendants_stop() > 0)
        test_pod_pause(10);
    ck_assert_int_eq(descendants_stop(), 0);
    ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);

    ck_assert_int_eq(descendants_signal(SIGCONT), 2);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
}
END_TEST

SUITE("descendants", grandchildren_in_other_sessions_are_found,
      a_parent_whose_child_is_stopped_in_vfork_counts_as_still)
