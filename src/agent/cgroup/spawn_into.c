/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/spawn_into.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/vfork_call.h"
#include "lib/base/fd.h"

#define LIFTED 16

int
spawn_lift(int fd)
{
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, LIFTED);

    return lifted < 0 ? -errno : lifted;
}

/* Arguments of the child that becomes the program. */
struct new_process {
    const struct spawn_program *program;
    int report_fd;
};

/* Reports a failed exec as posix_spawn does. */
static void
exec_program(const void *argument)
{
    const struct new_process *n = argument;
    const struct spawn_program *p = n->program;
    int code = 0;

    for (unsigned i = 0; i < p->n_fds && code == 0; i++)
        if (p->fds[i].from >= 0 && dup2(p->fds[i].from, p->fds[i].to) < 0)
            code = errno;
    if (code == 0) {
        execve(p->path, p->arguments, p->environment);
        code = errno;
    }
    if (write(n->report_fd, &code, sizeof(code)) < 0)
        _exit(126);
}

static int
wait_for_exec(int report_fd, pid_t pid)
{
    int code = 0;
    ssize_t n;

    do
        n = read(report_fd, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(code))
        return 0;
    waitpid(pid, NULL, 0);
    return -code;
}

int
spawn_into(int cgroup_fd, const struct spawn_program *program, pid_t *ret_pid, bool *ret_forked)
{
    sigset_t all, before;
    int ends[2];
    pid_t pid;
    int r;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    CLEANUP_FD int report = ends[0];
    CLEANUP_FD int low = ends[1];
    int lifted = spawn_lift(low);
    if (lifted < 0)
        return lifted;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = vfork_call(0, cgroup_fd, exec_program, &(struct new_process){program, lifted}, &pid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(lifted);
    close(low);
    low = -1;
    if (r < 0)
        return r;
    *ret_forked = true;
    r = wait_for_exec(report, pid);
    if (r == 0)
        *ret_pid = pid;
    return r;
}
