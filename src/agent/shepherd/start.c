/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - forks the job into its cgroup and waits until its program runs */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/vfork_call.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/shepherd_state.h"
#include "agent/shepherd/start_error.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/sanitizer.h"

#define LAUNCHER_STACK_BYTES ((size_t)(IS_SANITIZED ? 1024 : 64) << 10)

/* Creates the child that becomes the job, in that cgroup (-1: in this
 * process's). Returns like fork, but only in the parent.
 */
typedef pid_t fork_fn(struct shepherd *s, const struct prepared_job *prepared, int cgroup_fd);

static pid_t
fork_copy(UNUSED struct shepherd *s, const struct prepared_job *prepared, int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup_fd,
    };
    pid_t pid = cgroup_fd < 0 ? fork() : (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (pid == 0)
        become_user_and_run(prepared);
    return pid < 0 ? -errno : pid;
}

/* ---- In the shepherd's memory ---- */

/* Before it executes its program, the job may wait for a FIFO or a file server,
 * while the shepherd has to receive signals and enforce the time limit. So
 * another thread waits for the job, and does nothing else. The thread stays
 * until the job is over, because a program that asks to end with its parent
 * (PR_SET_PDEATHSIG) gets the signal when the thread that forked it ends.
 */
struct launcher {
    const struct prepared_job *prepared;
    int cgroup_fd;
    pid_t pid;
    int result;
    sem_t is_born; /* posted also when the fork failed */
    sem_t may_end;
};

struct launcher_thread {
    struct launcher launcher;
    pthread_t thread;
};

static void
run_job(const void *argument)
{
    const struct launcher *l = argument;

    sem_post((sem_t *)(uintptr_t)&l->is_born);
    become_user_and_run(l->prepared);
}

static void *
run_launcher(void *argument)
{
    struct launcher *l = argument;

    l->result =
        vfork_call(l->cgroup_fd >= 0 ? CLONE_CLEAR_SIGHAND : 0, l->cgroup_fd, run_job, l, &l->pid);
    sem_post(&l->is_born);
    while (sem_wait(&l->may_end) < 0)
        ;
    return NULL;
}

static int
start_thread(struct launcher_thread *t)
{
    pthread_attr_t attributes;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LAUNCHER_STACK_BYTES);
    r = pthread_create(&t->thread, &attributes, run_launcher, &t->launcher);
    pthread_attr_destroy(&attributes);
    return -r;
}

/* Ends the thread. Call it when the job has ended or was killed, or when there
 * is none. Returns the thread's result.
 */
static int
end_launcher(struct shepherd *s)
{
    struct launcher_thread *t = s->launcher_thread;
    int r;

    if (t == NULL)
        return 0;
    sem_post(&t->launcher.may_end);
    pthread_join(t->thread, NULL);
    r = t->launcher.result;
    sem_destroy(&t->launcher.is_born);
    sem_destroy(&t->launcher.may_end);
    free(t);
    s->launcher_thread = NULL;
    return r;
}

/* Returns when there is a job or an error, before the job's program runs. */
static pid_t
fork_sharing(struct shepherd *s, const struct prepared_job *prepared, int cgroup_fd)
{
    struct launcher_thread *t = xnew(struct launcher_thread);
    int r;

    t->launcher.prepared = prepared;
    t->launcher.cgroup_fd = cgroup_fd;
    sem_init(&t->launcher.is_born, 0, 0);
    sem_init(&t->launcher.may_end, 0, 0);
    r = start_thread(t);
    if (r < 0) {
        free(t);
        return r;
    }
    s->launcher_thread = t;
    while (sem_wait(&t->launcher.is_born) < 0)
        ;
    return t->launcher.pid > 0 ? t->launcher.pid : end_launcher(s);
}

/* Memory is not shared where a kernel setting for developers lets a user trace
 * a process that has become the user's own.
 */
static bool
shares_memory(const struct shepherd *s)
{
    return s->may_share_memory;
}

static int
open_join_files(const struct shepherd *s, struct prepared_job *prepared, bool with_v2,
                struct error *err)
{
    int n;

    if (s->cgroup == NULL)
        return 0;
    n = cgroup_open_join_files(s->cgroup, with_v2, prepared->join_fds, err);
    if (n < 0)
        return n;
    prepared->n_join_fds = n;
    return 0;
}

static void
close_join_files(struct prepared_job *prepared)
{
    while (prepared->n_join_fds > 0)
        close(prepared->join_fds[--prepared->n_join_fds]);
}

/* The job is created in its cgroup where the kernel can do that (v2, 5.7), and
 * otherwise writes to a join file.
 */
static pid_t
fork_job(struct shepherd *s, struct prepared_job *prepared, fork_fn *fork_it, struct error *err)
{
    CLEANUP_FD int cgroup_fd = s->cgroup == NULL ? -1 : cgroup_open_clone(s->cgroup);
    pid_t pid = -1;
    int r;

    if (cgroup_fd >= 0) {
        r = open_join_files(s, prepared, false, err);
        if (r < 0)
            return r;
        pid = fork_it(s, prepared, cgroup_fd);
        if (pid >= 0)
            return pid;
        close_join_files(prepared);
    }
    r = open_join_files(s, prepared, true, err);
    if (r < 0)
        return r;
    pid = fork_it(s, prepared, -1);
    return pid < 0 ? error_set(err, pid, "fork: %s", strerror(-pid)) : pid;
}

/* The job writes its present step here until it executes its program. */
static int *
share_step(struct shepherd *s)
{
    void *page;

    if (shares_memory(s)) {
        s->step = 0;
        return &s->step;
    }
    page = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

static int
fork_job_process(struct shepherd *s, int *ret_report_fd, struct error *err)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    s->prepared.report_fd = ends[1];
    s->prepared.channel_fd = s->has_channel ? HANDOVER_CHANNEL_FD : -1;
    s->prepared.step = share_step(s);
    pid = fork_job(s, &s->prepared, shares_memory(s) ? fork_sharing : fork_copy, err);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return pid;
    }
    s->supervisor.job = pid;
    s->supervisor.uid = (uid_t)s->order.uid;
    s->live.job_pid = pid;
    *ret_report_fd = ends[0];
    return 0;
}

static int
exit_code_for(const char *step, int error_number)
{
    if (strcmp(step, "program") != 0)
        return 125;
    return error_number == ENOENT ? 127 : 126;
}

static const char *
find_path(const struct shepherd *s, const char *step)
{
    const struct prepared_job *job = &s->prepared;

    return strcmp(step, "working directory") == 0 ? job->work_dir
           : strcmp(step, "standard input") == 0  ? job->stdin_path
           : strcmp(step, "standard output") == 0 ? job->stdout_path
           : strcmp(step, "standard error") == 0  ? job->stderr_path
           : strcmp(step, "program") == 0         ? job->arguments[0]
                                                  : NULL;
}

/* Another process writes the step, so this is a momentary value. */
static char *
dup_wait(const struct shepherd *s)
{
    struct become_user_report at = {0};
    const char *step, *path;

    if (s->prepared.step != NULL)
        at.step = *(volatile int *)s->prepared.step;
    step = become_user_step_name(&at);
    path = find_path(s, step);
    return path != NULL ? xasprintf("%s '%s'", step, path) : xstrdup(step);
}

/* The job waits for a FIFO without a reader or a file server that does not
 * answer, for example.
 */
static void
write_waiting(void *context)
{
    struct shepherd *s = context;

    free(s->live.waits_for);
    s->live.waits_for = dup_wait(s);
    (void)live_record_write(&s->live, s->order.run_dir, NULL);
}

/* Records that the job was ended before its program ran. */
static int
record_stopped(struct shepherd *s)
{
    CLEANUP_FREE char *wait = dup_wait(s);
    int r = shepherd_fail(s, EXIT_RECORD_CALLED_OFF, -ECANCELED,
                          xasprintf("it was ended while it waited for its %s; "
                                    "a file system may hang, or a FIFO may "
                                    "have no reader",
                                    wait));

    s->exit_record.was_late = s->supervisor.is_late && s->supervisor.cancelled_by == 0;
    s->exit_record.signal = SIGKILL;
    s->exit_record.exit_code = 128 + SIGKILL;
    return r;
}

int
start_job(struct shepherd *s)
{
    CLEANUP_FD int report_fd = -1;
    struct error err = {0};
    int r = fork_job_process(s, &report_fd, &err);
    bool has_started;

    if (r < 0)
        return shepherd_fail(s, "fork", r, xstrdup(err.text));
    has_started = supervisor_wait_start(&s->supervisor, report_fd, write_waiting, s, &s->report);
    /* A job that could not start only has to end after its report. The user
     * could stop the process before that, and end_launcher would wait for it.
     */
    if (!has_started) {
        kill(s->supervisor.job, SIGKILL);
        (void)end_launcher(s);
    }
    /* the job's memory may have been shared until now */
    close_join_files(&s->prepared);
    if (has_started) {
        free(s->live.waits_for);
        s->live.waits_for = NULL;
        return 0;
    }
    if (s->supervisor.cancelled_by != 0 || s->supervisor.is_late)
        return record_stopped(s);
    r = shepherd_fail(s, become_user_step_name(&s->report), -s->report.error_number,
                      start_error_dup(&s->prepared, &s->report));
    s->exit_record.exit_code = exit_code_for(s->exit_record.failed_step, s->report.error_number);
    return r;
}

void
end_job(struct shepherd *s)
{
    (void)end_launcher(s);
}

/* ---- The checkpoint command ---- */

pid_t
start_checkpoint(void *shepherd, struct error *err)
{
    static char shell[] = "/bin/sh";
    char *paths[] = {shell, NULL};
    struct shepherd *s = shepherd;
    const char *arguments[] = {"sh", "-c", s->order.checkpoint, NULL};
    struct prepared_job prepared = s->prepared;
    CLEANUP_FD int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid;

    if (nothing < 0)
        return error_set(err, -errno, "'/dev/null': %s", strerror(errno));
    prepared.report_fd = nothing;
    prepared.step = NULL;
    prepared.program_paths = paths;
    prepared.arguments = arguments;
    prepared.stdin_path = "/dev/null";
    if (prepared.stderr_path != NULL)
        prepared.stdout_path = prepared.stderr_path;
    prepared.stderr_path = NULL;
    prepared.output_mode = O_APPEND;
    pid = fork_job(s, &prepared, fork_copy, err);
    close_join_files(&prepared);
    return pid;
}
