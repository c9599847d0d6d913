/* SPDX-License-Identifier: Apache-2.0 */
/* step_tasks.c - the processes of the tasks
 *
 * A task is started by vfork: the program that starts a thousand of them is small, but the
 * parent must wait for exec anyway, to tell why a program could not be run. Between
 * both only system calls are made. A process that a task leaves behind becomes a child
 * of this program (a subreaper), so nothing of a step is lost, and its end is the end of all.
 */
#include "step/step_tasks.h"

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

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/descendants.h"
#include "agent/shepherd/files/rlimit.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/step/step_environment.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"
#include "step/step_ending.h"
#include "step/step_input.h"
#include "step/step_link.h"
#include "step/step_output.h"
#include "step/step_plan.h"
#include "step/step_pmi.h"
#include "step/step_pmix.h"
#include "step/step_result.h"
#include "step/step_terminal.h"

#define KERNEL_NSIG 65

/* Like a job's script (exit_code_for in the shepherd). */
#define NOT_STARTED  125
#define NOT_RUNNABLE 126
#define NOT_FOUND    127

struct step_task {
    uint32_t rank;
    pid_t pid; /* 0: it never ran, or has ended */
    bool has_terminal;
};

struct step_tasks {
    struct step_tasks_settings s;
    const struct step_layout_node *place; /* this node's */
    struct step_task *tasks;
    unsigned n_tasks, n_running;
    struct step_plan *plan; /* from the start of the tasks on */
    struct step_pmi *pmi;   /* NULL: the step has no PMI-1 */
    uint64_t oom_kills;     /* of the pod, that were told or before the step */
};

struct step_tasks *
step_tasks_new(const struct step_tasks_settings *settings)
{
    struct step_tasks *s = xnew(struct step_tasks);

    s->s = *settings;
    s->place = &settings->grant->layout.nodes[settings->grant->node];
    s->n_tasks = s->place->n_tasks;
    s->tasks = xnew_array(struct step_task, s->n_tasks);
    for (unsigned i = 0; i < s->n_tasks; i++)
        s->tasks[i].rank = s->place->tasks[i];
    return s;
}

unsigned
step_tasks_count(const struct step_tasks *s)
{
    return s->n_tasks;
}

unsigned
step_tasks_count_running(const struct step_tasks *s)
{
    return s->n_running;
}

pid_t
step_tasks_pid(const struct step_tasks *s, unsigned task)
{
    return s->tasks[task].pid;
}

static unsigned
index_of(const struct step_tasks *s, const struct step_task *t)
{
    return (unsigned)(t - s->tasks);
}

/* ---- Lack of memory ---- */

/* The memory is the pod's, of all its steps and its script. With cgroup v2 the kernel kills
 * all of them, this program included, and krun asks the agent (agent/steps/step_why.h); with v1 only
 * one process, and each such kill is told once.
 */
static uint64_t
count_memory_kills(const struct step_tasks *s)
{
    struct cgroup_usage usage = {0};

    if (s->s.cgroup != NULL)
        cgroup_read_usage(s->s.cgroup, &usage);
    return usage.oom_kills;
}

void
step_tasks_begin(struct step_tasks *s)
{
    s->oom_kills = count_memory_kills(s);
}

/* For the end of a task by SIGKILL. */
static bool
take_memory_kill(struct step_tasks *s)
{
    if (count_memory_kills(s) <= s->oom_kills)
        return false;
    s->oom_kills++;
    return true;
}

/* ---- A new process ---- */

/* The arguments of a child between vfork and exec, and where it says what failed: it shares
 * this memory.
 */
struct task_start {
    const struct step_tasks *tasks;
    const struct task_plan *plan;
    int fds[3];
    bool has_terminal;
    int pmi_fd;                  /* -1: none */
    const char *volatile failed; /* NULL: the program runs */
    volatile int error_number;
};

static int
set_limits(const struct step_tasks_settings *s)
{
    struct rlimit own;

    if (getrlimit(RLIMIT_NOFILE, &own) < 0)
        return -errno;
    own.rlim_cur = s->n_descriptors < own.rlim_max ? s->n_descriptors : own.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &own) < 0)
        return -errno;
    for (unsigned i = 0; i < s->n_limits; i++) {
        struct rlimit now;
        const struct rlimit_setting *l = &s->limits[i];

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
    const struct step_request *q = b->tasks->s.request;
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
    umask((mode_t)q->umask);
    r = set_limits(&b->tasks->s);
    if (r < 0)
        return *ret_error = r, "resource limits";
    if (chdir(q->directory) < 0)
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
end_task(struct step_tasks *s, struct step_task *t, const struct step_exit *end)
{
    const uint32_t code = end->signal != 0 ? 128 + end->signal : end->exit_code;
    const unsigned index = index_of(s, t);
    struct step_exit told = *end;

    if (t->pid != 0)
        s->n_running--;
    t->pid = 0;
    step_input_drop(s->s.input, index);
    step_output_end_task(s->s.output, index);
    step_pmi_end_task(s->pmi, index, code);
    step_pmix_end_task(s->s.pmix, index, code);
    step_ending_set_exit(s->s.ending, &told);
    step_result_add_exit(s->s.result, &told);
    step_frame_add_exit(step_link_out(s->s.link), t->rank, &told);
}

static void
fail_task(struct step_tasks *s, struct step_task *t, const char *what, int error_number,
          const char *path)
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
step_tasks_end_unstarted(struct step_tasks *s)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        end_task(s, &s->tasks[i], &(struct step_exit){.signal = SIGKILL});
}

static const char *
path_of(const struct step_tasks *s, const struct task_plan *p, const char *what)
{
    return strcmp(what, "program") == 0             ? p->arguments[0]
           : strcmp(what, "working directory") == 0 ? s->s.request->directory
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
open_streams(struct step_tasks *s, struct step_task *t, const struct task_plan *p, int fds[3],
             const char **ret_path)
{
    int r = 0;

    if (s->s.request->has_terminal && t->rank == 0) {
        *ret_path = "/dev/ptmx";
        r = step_terminal_open(s->s.terminal, index_of(s, t), (uint16_t)s->s.request->terminal_rows,
                               (uint16_t)s->s.request->terminal_columns, fds);
        t->has_terminal = r == 0;
        return r;
    }
    *ret_path = p->files[STEP_STDIN];
    if (p->files[STEP_STDIN] == NULL)
        r = step_input_open(s->s.input, index_of(s, t), &fds[0]);
    else if ((fds[0] = open(p->files[STEP_STDIN], O_RDONLY | O_NOCTTY | O_CLOEXEC)) < 0)
        r = -errno;
    for (int i = STEP_STDOUT; r == 0 && i <= STEP_STDERR; i++) {
        *ret_path = p->files[i];
        if (p->files[i] == NULL)
            r = step_output_open(s->s.output, index_of(s, t), (enum step_stream)i, &fds[i]);
        else if (i == STEP_STDERR && p->files[STEP_STDOUT] != NULL
                 && strcmp(p->files[STEP_STDOUT], p->files[i]) == 0)
            fds[i] = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
        else
            fds[i] = open(p->files[i],
                          O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | O_APPEND
                              | (s->s.request->streams.appends || p->shares_file[i] ? 0 : O_TRUNC),
                          0666);
        if (r == 0 && fds[i] < 0)
            r = -errno;
    }
    return r;
}

static void
start_task(struct step_tasks *s, struct step_task *t, const struct task_plan *plan)
{
    struct task_start b = {.tasks = s, .plan = plan, .fds = {-1, -1, -1}, .pmi_fd = -1};
    const char *path = NULL;
    pid_t pid;
    int r = open_streams(s, t, plan, b.fds, &path);

    if (r == 0)
        r = step_pmi_connect(s->pmi, index_of(s, t), &b.pmi_fd);
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

/* Files of patterns are opened with the task's umask. Words about the CPUs of a task come before
 * it runs, as Slurm's do.
 */
int
step_tasks_start(struct step_tasks *s, struct error *err)
{
    const struct step_tasks_settings *with = &s->s;
    const struct step_request *q = with->request;
    int r;

    if (q->mpi == NULL || strcmp(q->mpi, "pmi1") == 0)
        s->pmi = step_pmi_new(with->grant, with->events, with->link, with->ending);
    r = step_plan_make(
        &(struct step_plan_settings){
            .arena = with->arena,
            .request = q,
            .grant = with->grant,
            .pmix = with->pmix,
            .has_pmi = s->pmi != NULL,
            .is_foreign = step_link_is_sealed(with->link),
            .job = with->job,
        },
        &s->plan, err);
    if (r < 0)
        return r;
    umask((mode_t)q->umask);
    for (unsigned i = 0; i < s->n_tasks; i++) {
        struct task_plan plan;
        struct arena_mark mark = arena_mark(with->arena);

        step_plan_of_task(s->plan, i, &plan);
        if (plan.notice != NULL)
            step_output_add_notice(with->output, i, plan.notice);
        start_task(s, &s->tasks[i], &plan);
        arena_rewind(with->arena, &mark);
        step_link_flush(with->link);
    }
    return 0;
}

int
step_tasks_receive_pmi(struct step_tasks *s, const struct step_frame *f)
{
    return step_pmi_receive(s->pmi, f);
}

static struct step_task *
find_task(struct step_tasks *s, pid_t pid)
{
    for (unsigned i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid == pid)
            return &s->tasks[i];
    return NULL;
}

/* A shell says by its exit code that its program was killed. */
static void
end_task_with(struct step_tasks *s, struct step_task *t, int status)
{
    struct step_exit end = {
        .exit_code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0,
        .signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0,
        .has_core = WIFSIGNALED(status) && WCOREDUMP(status),
    };

    if ((end.signal == SIGKILL || end.exit_code == 128 + SIGKILL) && take_memory_kill(s)) {
        end.message = STEP_OUT_OF_MEMORY;
        end.message_length = strlen(STEP_OUT_OF_MEMORY);
    }
    end_task(s, t, &end);
}

bool
step_tasks_reap(struct step_tasks *s)
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
            step_result_add_usage(s->s.result, &usage);
            step_pmix_reaped(s->s.pmix, pid);
        }
        t = pid > 0 ? find_task(s, pid) : NULL;
        if (t != NULL)
            end_task_with(s, t, status);
    }
}

void
step_tasks_signal(struct step_tasks *s, uint32_t rank, int signal_number)
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
