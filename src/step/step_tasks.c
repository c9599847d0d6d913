/* SPDX-License-Identifier: Apache-2.0 */
/* step_tasks.c - the processes of the tasks: their start, their signals, their ends */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/shepherd/descendants.h"
#include "agent/shepherd/files/rlimit.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/step/step_environment.h"
#include "step/step_ending.h"
#include "step/step_plan.h"
#include "step/step_pmi.h"
#include "step/step_pmix.h"
#include "step/step_state.h"

#define KERNEL_NSIG 65

/* Like a job's script (exit_code_for in the shepherd). */
#define NOT_STARTED  125
#define NOT_RUNNABLE 126
#define NOT_FOUND    127
/* In the words of srun. */

/* The arguments of a child between vfork and exec, and where it says what failed: it shares
 * this memory.
 */
struct task_start {
    const struct step *step;
    const struct task_plan *plan;
    int fds[3];
    bool has_terminal;
    int pmi_fd;                  /* -1: none */
    const char *volatile failed; /* NULL: the program runs */
    volatile int error_number;
};

static int
set_limits(const struct step *s)
{
    struct rlimit own;

    if (getrlimit(RLIMIT_NOFILE, &own) < 0)
        return -errno;
    own.rlim_cur = s->limits < own.rlim_max ? s->limits : own.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &own) < 0)
        return -errno;
    for (unsigned i = 0; i < s->n_task_limits; i++) {
        struct rlimit now;
        const struct rlimit_setting *l = &s->task_limits[i];

        if (getrlimit(l->resource, &now) < 0)
            return -errno;
        now.rlim_cur = l->soft < now.rlim_max ? l->soft : now.rlim_max;
        if (setrlimit(l->resource, &now) < 0)
            return -errno;
    }
    return 0;
}

/* SIG_DFL for all; the C library refuses two of its own. */
static int
reset_signals(void)
{
    static const unsigned char zeroes[256];
    sigset_t none;

    for (int signo = 1; signo < KERNEL_NSIG; signo++)
        if (signo != SIGKILL && signo != SIGSTOP
            && syscall(SYS_rt_sigaction, signo, zeroes, NULL, KERNEL_NSIG / 8) < 0)
            return -errno;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int
place_descriptors(const int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            return -errno;
    return 0;
}

/* dup2 of a descriptor to itself would leave it to be closed by exec. */
static int
keep_descriptor(int fd, int number)
{
    return fd == number ? fcntl(fd, F_SETFD, 0) : dup2(fd, number);
}

/* Tries the next path of PATH after ENOENT and EACCES, and prefers to return the
 * latter, as execvp does; but a folder of PATH that the user cannot search says nothing
 * about a program that is nowhere.
 */
static int
execute(const struct task_plan *p)
{
    int r = -ENOENT;

    step_environment_put_pid(p->environment, getpid());
    for (char *const *path = p->paths; *path != NULL; path++) {
        execve(*path, p->arguments, p->environment);
        if (errno != EACCES && errno != ENOENT && errno != ENOTDIR)
            return -errno;
        if (errno == EACCES && (p->paths[1] == NULL || access(*path, F_OK) == 0))
            r = -EACCES;
    }
    return r;
}

/* The parent waits until this returns or executes, and shares its memory: only system
 * calls, no allocation.
 */
static const char *
become_task(const struct task_start *b, int *ret_error)
{
    const struct task_plan *p = b->plan;
    int r;

    /* Signals for the task are for all of its processes. The task ends with kiln-step
     * even if kiln-step is killed.
     */
    if (b->has_terminal && (setsid() < 0 || ioctl(b->fds[0], TIOCSCTTY, 0) < 0))
        return *ret_error = -errno, "session of the terminal";
    if (!b->has_terminal && setpgid(0, 0) < 0)
        return *ret_error = -errno, "process group";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return *ret_error = -errno, "death signal";
    if (p->is_bound && sched_setaffinity(0, sizeof(p->cpus), &p->cpus) < 0)
        return *ret_error = -errno, "CPU affinity";
    r = place_descriptors(b->fds);
    if (r < 0)
        return *ret_error = r, "standard streams";
    if (b->pmi_fd >= 0 && keep_descriptor(b->pmi_fd, STEP_PMI_FD) < 0)
        return *ret_error = -errno, "descriptor of PMI";
    umask((mode_t)b->step->request.umask);
    r = set_limits(b->step);
    if (r < 0)
        return *ret_error = r, "resource limits";
    if (chdir(b->step->request.directory) < 0)
        return *ret_error = -errno, "working directory";
    r = reset_signals();
    if (r < 0)
        return *ret_error = r, "signals";
    return *ret_error = execute(p), "program";
}

static __attribute__((noinline)) pid_t
fork_task(struct task_start *b)
{
    pid_t pid = vfork();

    if (pid == 0) {
        int r = 0;
        const char *what = become_task(b, &r);

        b->error_number = -r;
        b->failed = what;
        _exit(NOT_STARTED);
    }
    return pid;
}

static void
end_task(struct step *s, struct step_task *t, const struct step_exit *end)
{
    const uint32_t code = end->signal != 0 ? 128 + end->signal : end->exit_code;
    struct step_exit told = *end;

    if (t->pid != 0)
        s->n_running--;
    t->pid = 0;
    step_input_drop(s, t);
    if (t->has_terminal)
        step_output_check(s, t, STEP_STDOUT);
    step_pmi_end_task(s, t, code);
    step_pmix_end_task(s, t, code);
    step_ending_set_exit(s, &told);
    step_result_add_exit(s, &told);
    step_frame_add_exit(&s->link.out, t->rank, &told);
}

static void
fail_task(struct step *s, struct step_task *t, const char *what, int error_number, const char *path)
{
    CLEANUP_FREE char *words = path != NULL
                                   ? xasprintf("%s: %s: %s", what, path, strerror(error_number))
                                   : xasprintf("%s: %s", what, strerror(error_number));
    const bool is_program = strcmp(what, "program") == 0;

    end_task(s, t,
             &(struct step_exit){
                 .exit_code = !is_program              ? NOT_STARTED
                              : error_number == ENOENT ? NOT_FOUND
                                                       : NOT_RUNNABLE,
                 .message = words,
                 .message_length = strlen(words),
             });
}

void
step_tasks_end_unstarted(struct step *s)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        end_task(s, &s->tasks[i], &(struct step_exit){.signal = SIGKILL});
}

static const char *
path_of(const struct step *s, const struct task_plan *p, const char *what)
{
    return strcmp(what, "program") == 0             ? p->arguments[0]
           : strcmp(what, "working directory") == 0 ? s->request.directory
                                                    : NULL;
}

static void
close_all(int fds[3])
{
    for (int i = 0; i < 3; i++)
        if (fds[i] > 2)
            close(fds[i]);
}

/* A stream of a task that krun does not have is a file, or /dev/null. */
static int
open_streams(struct step *s, struct step_task *t, const struct task_plan *p, int fds[3],
             const char **ret_path)
{
    int r = 0;

    if (s->request.has_terminal && t->rank == 0) {
        *ret_path = "/dev/ptmx";
        return step_terminal_open(s, t, fds);
    }
    *ret_path = p->files[STEP_STDIN];
    if (p->files[STEP_STDIN] == NULL)
        r = step_input_open(s, t, &fds[0]);
    else if ((fds[0] = open(p->files[STEP_STDIN], O_RDONLY | O_NOCTTY | O_CLOEXEC)) < 0)
        r = -errno;
    for (int i = STEP_STDOUT; r == 0 && i <= STEP_STDERR; i++) {
        *ret_path = p->files[i];
        if (p->files[i] == NULL)
            r = step_output_open(s, t, (enum step_stream)i, &fds[i]);
        else if (i == STEP_STDERR && p->files[STEP_STDOUT] != NULL
                 && strcmp(p->files[STEP_STDOUT], p->files[i]) == 0)
            fds[i] = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
        else
            fds[i] = open(p->files[i],
                          O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | O_APPEND
                              | (s->request.streams.appends || p->shares_file[i] ? 0 : O_TRUNC),
                          0666);
        if (r == 0 && fds[i] < 0)
            r = -errno;
    }
    return r;
}

static void
start_task(struct step *s, struct step_task *t, const struct task_plan *plan)
{
    struct task_start b = {.step = s, .plan = plan, .fds = {-1, -1, -1}, .pmi_fd = -1};
    const char *path = NULL;
    pid_t pid;
    int r = open_streams(s, t, plan, b.fds, &path);

    if (r == 0)
        r = step_pmi_connect(s, t, &b.pmi_fd);

    if (r < 0) {
        close_all(b.fds);
        fail_task(s, t, "opening a stream", -r, path);
        return;
    }
    b.has_terminal = t->has_terminal;
    pid = fork_task(&b);
    r = errno;
    close_all(b.fds);
    if (b.pmi_fd >= 0)
        close(b.pmi_fd);
    if (pid < 0) {
        fail_task(s, t, "creating a process", r, NULL);
        return;
    }
    if (b.failed != NULL) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        fail_task(s, t, b.failed, b.error_number, path_of(s, plan, b.failed));
        return;
    }
    t->pid = pid;
    s->n_running++;
}

/* As a part of the task's standard error. Slurm also prints it before the task runs. */
static void
send_notice(struct step *s, const struct step_task *t, const char *notice)
{
    const size_t length = strlen(notice);

    if (length > s->windows[STEP_STDERR].credit)
        return;
    step_send_window_take(&s->windows[STEP_STDERR], length);
    step_frame_add(&s->link.out, &(struct step_frame){
                                     .type = STEP_FRAME_DATA,
                                     .stream = STEP_STDERR,
                                     .task = t->rank,
                                     .payload = notice,
                                     .length = length,
                                 });
}

/* Files of patterns are opened with the task's umask. */
int
step_tasks_start(struct step *s, struct error *err)
{
    int r;

    step_pmi_open(s);
    r = step_plans_make(s, &s->plans, err);
    if (r < 0)
        return r;
    umask((mode_t)s->request.umask);
    for (unsigned i = 0; i < s->n_tasks; i++) {
        struct task_plan plan;
        struct arena_mark mark = arena_mark(s->arena);

        task_plan_make(s, i, &plan);
        if (plan.notice != NULL)
            send_notice(s, &s->tasks[i], plan.notice);
        start_task(s, &s->tasks[i], &plan);
        arena_rewind(s->arena, &mark);
        step_link_flush(s);
    }
    return 0;
}

static struct step_task *
find_task(struct step *s, pid_t pid)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid == pid)
            return &s->tasks[i];
    return NULL;
}

/* A shell says by its exit code that its program was killed. */
static void
end_task_with(struct step *s, struct step_task *t, int status)
{
    struct step_exit end = {
        .exit_code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0,
        .has_core = WIFSIGNALED(status) && WCOREDUMP(status),
    };

    if ((end.signal == SIGKILL || end.exit_code == 128 + SIGKILL) && step_memory_take_kill(s)) {
        end.message = STEP_OUT_OF_MEMORY;
        end.message_length = strlen(STEP_OUT_OF_MEMORY);
    }
    end_task(s, t, &end);
}

bool
step_tasks_reap(struct step *s)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        struct step_task *t;

        if (pid == 0)
            return true;
        if (pid < 0 && errno != EINTR)
            return false;
        if (pid > 0) {
            step_result_add_usage(s, &usage);
            step_pmix_reaped(s, pid);
        }
        t = pid > 0 ? find_task(s, pid) : NULL;
        if (t != NULL)
            end_task_with(s, t, status);
    }
}

void
step_tasks_signal(struct step *s, uint32_t rank, int signal_number)
{
    if (signal_number < 1 || signal_number >= KERNEL_NSIG)
        return;
    for (unsigned i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid != 0 && (rank == STEP_ALL_TASKS || s->tasks[i].rank == rank))
            (void)kill(-s->tasks[i].pid, signal_number);
}

/* Processes that their task left behind have become children of this program. */
void
step_tasks_kill(void)
{
    (void)descendants_signal(SIGKILL, 0);
}
