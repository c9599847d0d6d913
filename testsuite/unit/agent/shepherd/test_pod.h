/* SPDX-License-Identifier: Apache-2.0 */
/* test_pod.h - directories and an order for tests that start real shepherds
 *
 * It has directories below /tmp, an order with the usual values, and the
 * program from the build. As root, jobs run as uid 65534 unless set otherwise;
 * as an ordinary user, they run as that user, without cgroups.
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

#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/launch.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define TEST_POD_UID 65534

struct test_pod {
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
test_pod_is_root(void)
{
    return geteuid() == 0;
}

static inline char *
test_pod_make_directory(struct test_pod *p, const char *name, mode_t mode)
{
    char *path = xasprintf("%s/%s", p->directory, name);

    ck_assert_int_eq(mkdir(path, mode), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    return path;
}

/* The program's path. A test that becomes another user sets it to a copy,
 * because the build may be below a directory that is closed to others.
 */
static const char *test_pod_program;

static inline char *
test_pod_program_dup(void)
{
    const char *top = getenv("top_builddir");

    if (test_pod_program != NULL)
        return xstrdup(test_pod_program);
    return xasprintf("%s/kiln-shepherd", top == NULL ? "." : top);
}

static inline void
test_pod_init(struct test_pod *p)
{
    *p = (struct test_pod){.directory = "/tmp/kiln-XXXXXX", .script_fd = -1};
    ck_assert_ptr_nonnull(mkdtemp(p->directory));
    ck_assert_int_eq(chmod(p->directory, 0711), 0);
    p->state_dir = test_pod_make_directory(p, "state", 0711);
    p->run_dir = test_pod_make_directory(p, "run", 0711);
    p->work_dir = test_pod_make_directory(p, "work", 0777);
    p->out = xasprintf("%s/out", p->work_dir);
    p->program = test_pod_program_dup();
    order_init(&p->order);
    p->order.pod = "test/pod";
    p->order.pod_uid = "uid-1";
    p->order.state_dir = p->state_dir;
    p->order.run_dir = p->run_dir;
    p->order.work_dir = p->work_dir;
    p->order.stdout_path = p->out;
    p->order.uid = test_pod_is_root() ? TEST_POD_UID : (int64_t)geteuid();
    p->order.gid = test_pod_is_root() ? TEST_POD_UID : (int64_t)getegid();
    p->order.arguments.items = p->arguments;
    p->order.environment.items = p->environment;
}

static inline void
test_pod_fini(struct test_pod *p)
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
test_pod_argument(struct test_pod *p, const char *argument)
{
    p->arguments[p->order.arguments.count++] = argument;
}

static inline void
test_pod_variable(struct test_pod *p, const char *variable)
{
    p->environment[p->order.environment.count++] = variable;
}

static inline void
test_pod_shell(struct test_pod *p, const char *commands)
{
    p->order.arguments.count = 0;
    test_pod_argument(p, "/bin/sh");
    test_pod_argument(p, "-c");
    test_pod_argument(p, commands);
}

static inline void
test_pod_script(struct test_pod *p, const char *bytes, size_t length)
{
    p->script_fd = memfd_create("script", MFD_CLOEXEC);
    ck_assert_int_eq(fd_write_all(p->script_fd, bytes, length), 0);
    p->order.script_bytes = (int64_t)length;
}

static inline void
test_pod_start(struct test_pod *p)
{
    struct launch l = {
        .program = p->program,
        .order = &p->order,
        .script_fd = p->script_fd,
    };
    struct shepherd_process process;
    struct error err = {0};

    ck_assert_msg(launch_start(&l, &process, &err) == 0, "%s", err.text);
    p->pid = process.pid;
    p->pidfd = process.pidfd;
}

/* Returns the exit status of the shepherd itself. */
static inline int
test_pod_wait(struct test_pod *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
    int status;

    ck_assert_int_eq(poll(&fd, 1, 60000), 1);
    ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
    close(p->pidfd);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline struct exit_record *
test_pod_ending(struct test_pod *p)
{
    struct exit_record *e = NULL;
    struct error err = {0};

    ck_assert_msg(exit_record_read(p->state_dir, p->run_dir, p->order.pod_uid, &e, &err) == 0, "%s",
                  err.text);
    return e;
}

static inline struct exit_record *
test_pod_run(struct test_pod *p)
{
    test_pod_start(p);
    ck_assert_int_eq(test_pod_wait(p), 0);
    return test_pod_ending(p);
}

/* Runs a pod that must succeed. */
static inline void
test_pod_succeed(struct test_pod *p)
{
    struct exit_record *e = test_pod_run(p);

    ck_assert_msg(e->failed_step == NULL, "%s: %s", e->failed_step, e->message);
    ck_assert_int_eq(e->exit_code, 0);
    exit_record_free(e);
}

static inline char *
test_pod_read(const char *path)
{
    struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    ck_assert_msg(file_read(path, 16u << 20, &text, &err) == 0, "%s", err.text);
    return strbuf_take(&text);
}

static inline void
test_pod_pause(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Waits until the job's program runs and has written something to the file. */
static inline void
test_pod_wait_for(const char *path)
{
    struct stat st;

    for (int i = 0; i < 3000; i++) {
        if (stat(path, &st) == 0 && st.st_size > 0)
            return;
        test_pod_pause(10);
    }
    ck_abort_msg("'%s' does not appear", path);
}
