/* SPDX-License-Identifier: Apache-2.0 */
/* A pidfd names the process and not its number, so a signal can never reach another process
 * that got the number. The descriptor is reserved before the process exists: a child that
 * nobody can watch would have to be waited for.
 */
#include "lib/loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/loop/fdwatch.h"

struct child {
    struct fdwatch *watch;
    int fd;
    pid_t pid;
    child_fn fn;
    void *arg;
};

/* glibc has pidfd_open only from 2.36 on. */
static int
pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0u);
}

static void
on_end(int fd, unsigned ready, void *arg)
{
    struct child *c = arg;
    struct child_exit end = {.pid = c->pid};
    pid_t r = wait4(c->pid, &end.status, WNOHANG, &end.usage);

    (void)fd;
    (void)ready;
    if (r == 0) /* its last thread has not been reaped yet */
        return;
    end.is_known = r > 0;
    fdwatch_want(c->watch, 0);
    c->fn(&end, c->arg);
}

void
child_free(struct child *c)
{
    if (c == NULL)
        return;
    fdwatch_free(c->watch);
    close(c->fd);
    free(c);
}

int
child_watch(struct loop *loop, pid_t pid, child_fn fn, void *arg, struct child **ret_child,
            struct error *err)
{
    int fd = pidfd_of(pid);
    struct child *c;

    if (fd < 0) {
        const int code = errno;

        kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
        return error_wrap(err, -code, "watching process %d", (int)pid);
    }
    c = xnew(struct child);
    c->fd = fd;
    c->pid = pid;
    c->fn = fn;
    c->arg = arg;
    c->watch = fdwatch_new(loop, fd, FDWATCH_READ, on_end, c);
    *ret_child = c;
    return 0;
}

static void
plan_attributes(posix_spawnattr_t *attributes, const struct child_plan *plan)
{
    short what = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, all;

    if (plan->starts_new_session)
        what |= POSIX_SPAWN_SETSID;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, what);
}

static void
plan_actions(posix_spawn_file_actions_t *actions, const struct child_plan *plan)
{
    for (int i = 0; i < 3; i++)
        if (plan->fds[i] < 0)
            posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
        else
            posix_spawn_file_actions_adddup2(actions, plan->fds[i], i);
    if (plan->directory != NULL)
        posix_spawn_file_actions_addchdir_np(actions, plan->directory);
}

static int
start(const struct child_plan *plan, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    plan_actions(&actions, plan);
    plan_attributes(&attributes, plan);
    r = posix_spawn(ret_pid, plan->path, &actions, &attributes, plan->argv,
                    plan->envp != NULL ? plan->envp : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* The descriptor for the watch is reserved before there is a process: one that
 * cannot be watched would have to be waited for.
 */
int
child_spawn(struct loop *loop, const struct child_plan *plan, child_fn fn, void *arg,
            struct child **ret_child, struct error *err)
{
    int reserved = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t pid = 0;
    int r = reserved < 0 ? -errno : start(plan, &pid);

    if (reserved >= 0)
        close(reserved);
    if (r < 0)
        return error_wrap(err, r, "starting '%s'", plan->path);
    return child_watch(loop, pid, fn, arg, ret_child, err);
}

int
child_kill(struct child *c, int signal_number)
{
    if (syscall(SYS_pidfd_send_signal, c->fd, signal_number, NULL, 0u) < 0)
        return -errno;
    return 0;
}

pid_t
child_pid(const struct child *c)
{
    return c->pid;
}
