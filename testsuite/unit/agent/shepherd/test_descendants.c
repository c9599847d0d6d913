/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/descendants.h"

#include <check.h>
#include <grp.h>
#include <sys/prctl.h>

#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

START_TEST(grandchildren_in_other_sessions_are_found)
{
    int status;
    pid_t child;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    ck_assert_int_eq(descendants_signal(0, 0), 0);
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

    ck_assert_int_eq(descendants_signal(SIGKILL, 0), 3);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_gt(waitpid(-1, &status, 0), 0);
        ck_assert(WIFSIGNALED(status));
    }
    ck_assert_int_eq(descendants_signal(0, 0), 0);
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
    while (descendants_signal(0, 0) < 2 || descendants_stop() > 0)
        test_pod_pause(10);
    ck_assert_int_eq(descendants_stop(), 0);
    ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);

    ck_assert_int_eq(descendants_signal(SIGCONT, 0), 2);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
}
END_TEST

/* One of two children is spared. */
START_TEST(one_process_is_spared)
{
    int status;
    pid_t spared, other;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    spared = fork();
    if (spared == 0)
        for (;;)
            pause();
    other = fork();
    if (other == 0)
        for (;;)
            pause();

    ck_assert_int_eq(descendants_signal(SIGKILL, spared), 2);

    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(waitpid(spared, &status, WNOHANG), 0);
    ck_assert_int_eq(kill(spared, SIGKILL), 0);
    ck_assert_int_eq(waitpid(spared, &status, 0), spared);
}
END_TEST

static void
ignore(int signal_number)
{
    (void)signal_number;
}

/* Its standard input is a pipe that nobody writes to. */
static pid_t
start(const char *program, const char *argument)
{
    int ends[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0)
        dup2(ends[0], STDIN_FILENO);

    if (pid != 0)
        return pid;
    execlp(program, program, argument, NULL);
    _exit(127);
}

START_TEST(a_shell_is_known_and_a_handler_is_seen)
{
    const pid_t shell = start("sh", NULL), other = start("sleep", "1000");
    int status;

    signal(SIGUSR1, ignore);
    signal(SIGUSR2, SIG_IGN);
    ck_assert(process_catches(getpid(), SIGUSR1));
    ck_assert(!process_catches(getpid(), SIGUSR2));
    ck_assert(!process_catches(getpid(), SIGHUP));
    ck_assert(!process_is_shell(getpid()));
    while (process_catches(other, SIGUSR1)) /* until it is another program */
        test_pod_pause(10);
    ck_assert(!process_is_shell(other));
    for (int i = 0; i < 500 && !process_is_shell(shell); i++)
        test_pod_pause(10);
    ck_assert(process_is_shell(shell));
    kill(shell, SIGKILL);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(shell, &status, 0), shell);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert(!process_is_shell(shell));
    ck_assert(!process_catches(shell, SIGUSR1));
}
END_TEST

/* The list of the groups is before the signals. */
START_TEST(a_handler_of_a_process_with_many_groups_is_seen)
{
    enum { GROUPS = 5000 };
    gid_t groups[GROUPS];
    pid_t child;
    int status;

    if (geteuid() != 0)
        return;
    for (gid_t i = 0; i < GROUPS; i++)
        groups[i] = 100000 + i;
    child = fork();
    if (child == 0) {
        if (setgroups(GROUPS, groups) != 0)
            _exit(1);
        signal(SIGUSR1, ignore);
        for (;;)
            pause();
    }
    for (int i = 0; i < 500 && !process_catches(child, SIGUSR1); i++)
        test_pod_pause(10);
    ck_assert(process_catches(child, SIGUSR1));
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
}
END_TEST

SUITE("descendants", grandchildren_in_other_sessions_are_found, one_process_is_spared,
      a_shell_is_known_and_a_handler_is_seen, a_handler_of_a_process_with_many_groups_is_seen,
      a_parent_whose_child_is_stopped_in_vfork_counts_as_still)
