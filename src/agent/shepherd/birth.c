/* SPDX-License-Identifier: Apache-2.0 */
/* birth.c - the fork, into the cgroup, and the climb to the user's program */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/advice.h"
#include "agent/shepherd/shepherd_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

static pid_t
fork_into(int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup_fd,
    };

    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int
open_doors(struct shepherd *s, bool with_v2, struct error *err)
{
    int n;

    if (s->cgroup == NULL)
        return 0;
    n = cgroup_open_doors(s->cgroup, with_v2, s->outfit.doors, err);
    if (n < 0)
        return n;
    s->outfit.n_doors = n;
    return 0;
}

static void
close_doors(struct shepherd *s)
{
    while (s->outfit.n_doors > 0)
        close(s->outfit.doors[--s->outfit.n_doors]);
}

/* Into the cgroup at birth where the kernel can (v2, 5.7), and by the door
 * otherwise. Returns as fork does.
 */
static pid_t
fork_job(struct shepherd *s, struct error *err)
{
    CLEANUP_FD int cgroup_fd =
        s->cgroup == NULL ? -1 : cgroup_open_clone(s->cgroup);
    pid_t pid = -1;
    int r;

    if (cgroup_fd >= 0) {
        r = open_doors(s, false, err);
        if (r < 0)
            return r;
        s->outfit.has_no_handlers = true;
        pid = fork_into(cgroup_fd);
        if (pid >= 0)
            return pid;
        close_doors(s);
        s->outfit.has_no_handlers = false;
    }
    r = open_doors(s, true, err);
    if (r < 0)
        return r;
    pid = fork();
    return pid < 0 ? error_set(err, -errno, "fork: %s", strerror(errno)) : pid;
}

static int
fork_and_climb(struct shepherd *s, int *ret_report_fd, struct error *err)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    s->outfit.report_fd = ends[1];
    pid = fork_job(s, err);
    if (pid == 0)
        ladder_climb(&s->outfit);
    close(ends[1]);
    close_doors(s);
    if (pid < 0) {
        close(ends[0]);
        return pid;
    }
    s->vigil.job = pid;
    s->live.job_pid = pid;
    *ret_report_fd = ends[0];
    return 0;
}

static int
exit_code_for(const char *rung, int error_number)
{
    if (strcmp(rung, "program") != 0)
        return 125;
    return error_number == ENOENT ? 127 : 126;
}

int
birth_give(struct shepherd *s)
{
    CLEANUP_FD int report_fd = -1;
    struct error err = {0};
    int r = fork_and_climb(s, &report_fd, &err);

    if (r < 0)
        return shepherd_fail(s, "fork", r, xstrdup(err.text));
    if (vigil_wait_start(&s->vigil, report_fd, &s->report))
        return 0;
    r = shepherd_fail(s,
                      ladder_rung_name(&s->report),
                      -s->report.error_number,
                      advice_dup(&s->outfit, &s->report));
    s->ending.exit_code =
        exit_code_for(s->ending.failed_step, s->report.error_number);
    return r;
}
