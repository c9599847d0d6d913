/* SPDX-License-Identifier: Apache-2.0 */
/* pasture.h - a place where a test has real shepherds run real processes
 *
 * Directories below /tmp, an order with the usual filled in, and its program
 * from the build. As root, jobs are those of uid 65534 unless said otherwise;
 * as an ordinary user, they are one's own, without cgroups.
 */
#pragma once

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/shepherd/ending.h"
#include "agent/shepherd/launch.h"
#include "agent/shepherd/live.h"
#include "agent/shepherd/order.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define PASTURE_UID 65534

struct pasture {
    char directory[32];
    char *state_dir, *run_dir, *work_dir, *out, *program;
    struct order order;
    const char *arguments[16];
    const char *environment[16];
    int script_fd;
    pid_t pid;
    int pidfd;
};

static inline bool
pasture_is_root(void)
{
    return geteuid() == 0;
}

static inline char *
pasture_make_directory(struct pasture *p, const char *name, mode_t mode)
{
    char *path = xasprintf("%s/%s", p->directory, name);

    ck_assert_int_eq(mkdir(path, mode), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    return path;
}

/* Where the program is. A test that becomes another user sets a copy, because
 * the build may be below a directory that is closed to others.
 */
static const char *pasture_program;

static inline char *
pasture_program_dup(void)
{
    const char *top = getenv("top_builddir");

    if (pasture_program != NULL)
        return xstrdup(pasture_program);
    return xasprintf("%s/kiln-shepherd", top == NULL ? "." : top);
}

static inline void
pasture_init(struct pasture *p)
{
    *p = (struct pasture){.directory = "/tmp/kiln-XXXXXX", .script_fd = -1};
    ck_assert_ptr_nonnull(mkdtemp(p->directory));
    ck_assert_int_eq(chmod(p->directory, 0711), 0);
    p->state_dir = pasture_make_directory(p, "state", 0711);
    p->run_dir = pasture_make_directory(p, "run", 0711);
    p->work_dir = pasture_make_directory(p, "work", 0777);
    p->out = xasprintf("%s/out", p->work_dir);
    p->program = pasture_program_dup();
    order_init(&p->order);
    p->order.pod = "test/pod";
    p->order.pod_uid = "uid-1";
    p->order.state_dir = p->state_dir;
    p->order.run_dir = p->run_dir;
    p->order.work_dir = p->work_dir;
    p->order.stdout_path = p->out;
    p->order.uid = pasture_is_root() ? PASTURE_UID : (int64_t)geteuid();
    p->order.gid = pasture_is_root() ? PASTURE_UID : (int64_t)getegid();
    p->order.arguments.items = p->arguments;
    p->order.environment.items = p->environment;
}

static inline void
pasture_fini(struct pasture *p)
{
    CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", p->directory);

    ck_assert_int_eq(system(command), 0);
    free(p->state_dir);
    free(p->run_dir);
    free(p->work_dir);
    free(p->out);
    free(p->program);
    if (p->script_fd >= 0)
        close(p->script_fd);
}

static inline void
pasture_argument(struct pasture *p, const char *argument)
{
    p->arguments[p->order.arguments.count++] = argument;
}

static inline void
pasture_variable(struct pasture *p, const char *variable)
{
    p->environment[p->order.environment.count++] = variable;
}

static inline void
pasture_shell(struct pasture *p, const char *commands)
{
    p->order.arguments.count = 0;
    pasture_argument(p, "/bin/sh");
    pasture_argument(p, "-c");
    pasture_argument(p, commands);
}

static inline void
pasture_script(struct pasture *p, const char *bytes, size_t length)
{
    p->script_fd = memfd_create("script", MFD_CLOEXEC);
    ck_assert_int_eq(fd_write_all(p->script_fd, bytes, length), 0);
    p->order.script_bytes = (int64_t)length;
}

static inline void
pasture_start(struct pasture *p)
{
    struct launch l = {
        .program = p->program,
        .order = &p->order,
        .script_fd = p->script_fd,
    };
    struct error err = {0};

    ck_assert_msg(launch_start(&l, &p->pid, &p->pidfd, &err) == 0,
                  "%s",
                  err.text);
}

/* The exit status of the shepherd itself. */
static inline int
pasture_wait(struct pasture *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
    int status;

    ck_assert_int_eq(poll(&fd, 1, 60000), 1);
    ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
    close(p->pidfd);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline struct ending *
pasture_ending(struct pasture *p)
{
    struct ending *e = NULL;
    struct error err = {0};

    ck_assert_msg(ending_read(p->state_dir, p->run_dir, &e, &err) == 0,
                  "%s",
                  err.text);
    return e;
}

static inline struct ending *
pasture_run(struct pasture *p)
{
    pasture_start(p);
    ck_assert_int_eq(pasture_wait(p), 0);
    return pasture_ending(p);
}

/* Runs what must succeed. */
static inline void
pasture_succeed(struct pasture *p)
{
    struct ending *e = pasture_run(p);

    ck_assert_msg(e->failed_step == NULL, "%s: %s", e->failed_step, e->message);
    ck_assert_int_eq(e->exit_code, 0);
    ending_free(e);
}

static inline char *
pasture_read(const char *path)
{
    struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_msg(file_read(path, 16u << 20, &text, &err) == 0, "%s", err.text);
    return strbuf_take(&text);
}

static inline void
pasture_pause(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000,
                            .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Until the job's program runs and has put something into the file. */
static inline void
pasture_wait_for(const char *path)
{
    struct stat st;

    for (int i = 0; i < 3000; i++) {
        if (stat(path, &st) == 0 && st.st_size > 0)
            return;
        pasture_pause(10);
    }
    ck_abort_msg("'%s' does not appear", path);
}
