/* SPDX-License-Identifier: Apache-2.0 */
/* step_end.c - a running step: its end, and the processes that it leaves */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/stray_processes.h"
#include "agent/pods/agent_context.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/steps/step_log.h"
#include "agent/steps/steps_state.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/loop/child.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/step/step_grant.h"

#define KILL_TRIES    50
#define KILL_PAUSE_US 2000
#define KILL_AGAIN_MS 100
/* A kiln-step whose krun is gone ends at once, unless it hangs or is stopped. */
#define HANG_MS       1500

struct step_end {
    struct agent_step *step;
    const char *uid;
    bool is_clean;
};

static void
note_usage(struct agent_step *e)
{
    struct cgroup_usage usage = {0};

    cgroup_read_usage(e->cgroup, &usage);
    if (!usage.has_cpu)
        return;
    e->cpu_user_us = usage.cpu_user_us;
    e->cpu_system_us = usage.cpu_system_us;
}

static void
end_work(void *context)
{
    struct step_end *w = context;
    struct agent_step *e = w->step;

    for (int i = 0; i < KILL_TRIES; i++) {
        if (e->cgroup != NULL && cgroup_is_empty(e->cgroup) != 0) {
            note_usage(e);
            w->is_clean = cgroup_remove_inner(e->cgroup, NULL) == 0;
            if (w->is_clean)
                return;
        }
        if (e->cgroup != NULL)
            (void)cgroup_kill(e->cgroup, NULL);
        else if (!e->may_be_left || stray_processes_kill(w->uid, e->id, e->owner) == 0) {
            w->is_clean = true;
            return;
        }
        usleep(KILL_PAUSE_US);
    }
}

static void end_step(void *step);

static void
end_done(void *context)
{
    struct step_end *w = context;
    struct agent_step *e = w->step;
    struct step_job *job = e->job;
    const struct bitset cpus = e->cpus, gpus = e->gpus;
    const bool is_clean = w->is_clean;

    free(w);
    if (!is_clean) {
        if (e->again == NULL)
            e->again = timer_new(job->steps->s.agent->loop, end_step, e);
        timer_start(e->again, KILL_AGAIN_MS);
        return;
    }
    step_account_end(e);
    step_log_end(job->steps->log_dir, job->uid, e->id);
    agent_step_free(e);
    step_queue_take_freed(job, &cpus, &gpus);
}

/* Kiln-step is gone, and now krun sees its end: also if what the step has left cannot be
 * killed for a while.
 */
static void
stop_watching_krun(struct agent_step *e)
{
    fdwatch_free(e->krun_watch);
    e->krun_watch = NULL;
    if (e->krun_fd >= 0)
        close(e->krun_fd);
    e->krun_fd = -1;
}

static void
end_step(void *step)
{
    struct agent_step *e = step;
    const struct agent_context *g = e->job->steps->s.agent;
    struct step_end *w = xnew(struct step_end);

    w->step = e;
    w->uid = e->job->uid;
    e->phase = STEP_ENDING;
    stop_watching_krun(e);
    timer_free(e->again);
    e->again = NULL;
    workers_submit(g->workers, g->loop, end_work, end_done, w);
}

void
step_end_of_child(const struct child_exit *exit, void *context)
{
    struct agent_step *e = context;

    e->may_be_left = !exit->is_known || exit->status != 0;
    child_free(e->child);
    e->child = NULL;
    end_step(e);
}

static void
on_exit_of_resumed(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct agent_step *e = context;

    e->may_be_left = true;
    fdwatch_free(e->watch);
    e->watch = NULL;
    end_step(e);
}

void
step_end_kill(struct agent_step *e)
{
    if (e->child != NULL)
        (void)child_kill(e->child, SIGKILL);
    else if (e->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, e->pidfd, SIGKILL, NULL, 0);
}

static void
on_hang(void *step)
{
    struct agent_step *e = step;

    log_warning("step %" PRId64 " of pod %s: kiln-step has not ended with its krun; it is killed",
                e->id, e->job->uid);
    step_end_kill(e);
}

static void
on_krun_end(UNUSED int fd, UNUSED unsigned ready, void *step)
{
    struct agent_step *e = step;

    fdwatch_want(e->krun_watch, 0);
    e->again = timer_new(e->job->steps->s.agent->loop, on_hang, e);
    timer_start(e->again, HANG_MS);
}

/* Nothing is read: what wakes the loop is only the end of the connection. */
void
step_end_watch_krun(struct agent_step *e, int fd)
{
    e->krun_fd = fd;
    e->krun_watch = fdwatch_new(e->job->steps->s.agent->loop, fd, FDWATCH_END, on_krun_end, e);
}

static bool
reopen(struct agent_step *e, const struct step_log_entry *entry)
{
    int64_t ticks;

    if (entry->pid == 0)
        return false;
    e->pidfd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
    if (e->pidfd >= 0 && live_record_read_start(entry->pid, &ticks) == 0 && ticks == entry->ticks)
        return true;
    /* Another process has that pid now, and may not get the step's signals. */
    if (e->pidfd >= 0)
        close(e->pidfd);
    e->pidfd = -1;
    return false;
}

void
step_end_resume(struct agent_step *e, const struct step_log_entry *entry)
{
    int krun_fd;

    e->may_be_left = true;
    e->phase = STEP_RUNNING;
    if (!reopen(e, entry)) {
        end_step(e);
        return;
    }
    e->watch =
        fdwatch_new(e->job->steps->s.agent->loop, e->pidfd, FDWATCH_READ, on_exit_of_resumed, e);
    krun_fd = (int)syscall(SYS_pidfd_getfd, e->pidfd, STEP_LINK_FD, 0);
    if (krun_fd >= 0)
        step_end_watch_krun(e, krun_fd);
}

/* A signal that a kiln-step which is just being started ignores. */
static void
signal_kiln_step(struct agent_step *e, int signal_number, int value)
{
    siginfo_t info = {
        .si_signo = signal_number,
        .si_code = SI_QUEUE,
    };

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    if (e->child != NULL)
        (void)sigqueue(child_pid(e->child), signal_number, info.si_value);
    else if (e->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, e->pidfd, signal_number, &info, 0);
}

void
step_end_freeze(struct agent_step *e, bool still)
{
    signal_kiln_step(e, SIGURG, still);
}

/* A kiln-step of the release before this one does not react to it. */
void
step_end_signal(struct agent_step *e, int number)
{
    signal_kiln_step(e, SIGWINCH, number);
}
