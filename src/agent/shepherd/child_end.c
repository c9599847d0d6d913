/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/child_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/descendants.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* The number of the member after the name, which begins with the state. */
#define STATUS_MEMBER 50

bool
child_end_wait(int pidfd, int wait_ms)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    int64_t until = clock_monotonic_us(&clock_system) + (int64_t)wait_ms * 1000;
    int n;

    if (pidfd < 0)
        return false;
    do {
        int64_t left_ms = (until - clock_monotonic_us(&clock_system)) / 1000;

        n = poll(&end, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

/* The status of a zombie, as in /proc/PID/stat. */
static int
read_status(pid_t pid, int *ret_status)
{
    char path[64], text[1024];
    char *at, *save = NULL;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    at = strrchr(text, ')');
    at = at == NULL ? NULL : strtok_r(at + 1, " \n", &save);
    if (at == NULL || strchr("ZX", at[0]) == NULL)
        return -EAGAIN;
    for (int i = 1; i < STATUS_MEMBER && at != NULL; i++)
        at = strtok_r(NULL, " \n", &save);
    if (at == NULL)
        return -EBADMSG;
    *ret_status = atoi(at);
    return 0;
}

int
child_end_take(pid_t pid, int *ret_status)
{
    pid_t reaped;

    do
        reaped = waitpid(pid, ret_status, WNOHANG);
    while (reaped < 0 && errno == EINTR);
    if (reaped < 0)
        return -errno;
    return reaped > 0 ? 1 : read_status(pid, ret_status);
}

static bool
read_number(pid_t pid, const char *name, long *ret_number)
{
    CLEANUP_STRBUF struct strbuf value = STRBUF_INIT;

    if (!process_read_status(pid, name, &value))
        return false;
    *ret_number = strtol(value.text, NULL, 10);
    return true;
}

/* The tracer's pid is read again once it cannot become another process's. */
void
child_end_free(pid_t pid, uid_t user)
{
    long tracer, again, owner;

    if (!read_number(pid, "TracerPid", &tracer) || tracer <= 1)
        return;
    CLEANUP_FD int fd = (int)syscall(SYS_pidfd_open, (pid_t)tracer, 0);
    if (fd >= 0 && read_number((pid_t)tracer, "Uid", &owner) && owner == (long)user && user != 0
        && read_number(pid, "TracerPid", &again) && again == tracer)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

static int
free_one(pid_t pid, void *context)
{
    child_end_free(pid, *(const uid_t *)context);
    return 0;
}

void
child_end_free_all(const struct cgroup *cgroup, uid_t user)
{
    if (cgroup != NULL)
        (void)cgroup_visit_processes(cgroup, free_one, &user);
    else
        (void)descendants_visit(free_one, &user);
}
