/* SPDX-License-Identifier: Apache-2.0 */
/* birth.c - the fork, into the cgroup, and the climb to the user's program */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* A page that the job writes until it is another program. */
static int *
share_rung(void)
{
    void *page = mmap(NULL,
                      sizeof(int),
                      PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS,
                      -1,
                      0);

    return page == MAP_FAILED ? NULL : page;
}

static int
fork_and_climb(struct shepherd *s, int *ret_report_fd, struct error *err)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    s->outfit.report_fd = ends[1];
    s->outfit.rung = share_rung();
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

static const char *
find_path(const struct shepherd *s, const char *rung)
{
    const struct outfit *o = &s->outfit;

    return strcmp(rung, "working directory") == 0 ? o->work_dir
           : strcmp(rung, "standard input") == 0  ? o->stdin_path
           : strcmp(rung, "standard output") == 0 ? o->stdout_path
           : strcmp(rung, "standard error") == 0  ? o->stderr_path
           : strcmp(rung, "program") == 0         ? o->arguments[0]
                                                  : NULL;
}

/* Another process writes it: as it was just now. */
static char *
dup_wait(const struct shepherd *s)
{
    struct ladder_report at = {0};
    const char *rung, *path;

    if (s->outfit.rung != NULL)
        at.rung = *(volatile int *)s->outfit.rung;
    rung = ladder_rung_name(&at);
    path = find_path(s, rung);
    return path != NULL ? xasprintf("%s '%s'", rung, path) : xstrdup(rung);
}

/* A FIFO that nobody reads, a file server that does not answer. */
static void
say_waiting(void *context)
{
    struct shepherd *s = context;

    free(s->live.waits_for);
    s->live.waits_for = dup_wait(s);
    (void)live_write(&s->live, s->order.run_dir, NULL);
}

/* Ended before its program ran. */
static int
be_stopped(struct shepherd *s)
{
    CLEANUP_FREE char *wait = dup_wait(s);
    int r = shepherd_fail(s,
                          ENDING_CALLED_OFF,
                          -ECANCELED,
                          xasprintf("it was ended while it waited for its %s; "
                                    "does a file system hang, or nobody read "
                                    "a FIFO?",
                                    wait));

    s->ending.was_late = s->vigil.is_late && s->vigil.called_off == 0;
    s->ending.signal = SIGKILL;
    s->ending.exit_code = 128 + SIGKILL;
    return r;
}

int
birth_give(struct shepherd *s)
{
    CLEANUP_FD int report_fd = -1;
    struct error err = {0};
    int r = fork_and_climb(s, &report_fd, &err);

    if (r < 0)
        return shepherd_fail(s, "fork", r, xstrdup(err.text));
    if (vigil_wait_start(&s->vigil, report_fd, say_waiting, s, &s->report)) {
        free(s->live.waits_for);
        s->live.waits_for = NULL;
        return 0;
    }
    if (s->vigil.called_off != 0 || s->vigil.is_late)
        return be_stopped(s);
    r = shepherd_fail(s,
                      ladder_rung_name(&s->report),
                      -s->report.error_number,
                      advice_dup(&s->outfit, &s->report));
    s->ending.exit_code =
        exit_code_for(s->ending.failed_step, s->report.error_number);
    return r;
}
