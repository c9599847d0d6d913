/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/stray_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

/* Starts a sleep with that environment; exec has happened when this returns. */
static pid_t
start(const char *entry)
{
    char name[] = "sleep", time[] = "1000";
    CLEANUP_FREE char *text = xstrdup(entry);
    char *const arguments[] = {name, time, NULL};
    char *const environment[] = {text, NULL};
    int ends[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        execve("/bin/sleep", arguments, environment);
        _exit(1);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    return pid;
}

START_TEST(a_process_with_the_pods_uid_is_killed_and_no_other)
{
    pid_t orphan = start("KILN_POD_UID=uid-orphan");
    pid_t stranger = start("KILN_POD_UID=uid-orphan-2");
    int status;

    ck_assert_uint_eq(stray_processes_kill("uid-orphan", -1, getuid() + 1), 0);
    ck_assert_uint_eq(stray_processes_kill("uid-orphan", -1, getuid()), 1);

    ck_assert_int_eq(waitpid(orphan, &status, 0), orphan);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(waitpid(stranger, &status, WNOHANG), 0);
    ck_assert_uint_eq(stray_processes_kill("uid-orphan", -1, 0), 0);
    kill(stranger, SIGKILL);
    waitpid(stranger, &status, 0);
}
END_TEST

SUITE("stray_processes", a_process_with_the_pods_uid_is_killed_and_no_other)
