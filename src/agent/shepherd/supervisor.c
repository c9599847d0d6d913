/* SPDX-License-Identifier: Apache-2.0 */
/* Exactly one thing has ended a job: it itself, an order, its time limit or the shutdown of
 * the node, and they may come in the same millisecond. The first one is noted when it happens,
 * since afterwards a handled SIGTERM cannot be told from a program that was done (decisions
 * 440 and 512). An order may come again from each new agent; the first one counts.
 *
 * The shepherd is finished when no process of the job is left, which is harder than it sounds:
 * processes hide from a kill by being traced, sit in a device, or are left behind by their
 * parents. Frozen ones are thawed before they are told anything, as they could not react.
 */
#include "agent/shepherd/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/become_user.h"
#include "agent/shepherd/child_end.h"
#include "agent/shepherd/descendants.h"
#include "agent/shepherd/handover.h"
#include "agent/shepherd/launch.h"
#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

/* Killed processes end within microseconds, or wait for a device. */
#define FIRST_PAUSE_MS  1
#define LAST_PAUSE_MS   200
#define SLOW_START_MS   2000
#define LONGEST_WAIT_MS 3600000
#define FREEZE_LOOK_MS  20
#define FREEZE_AGAIN_MS 1000
#define HELD_MS         1000 /* a killed process that still lives then is held */

/* The longest time between two signals of one loop over many processes. */
#define SHUTDOWN_WAIT_MS 250

int
supervisor_begin(struct supervisor *v, struct error *err)
{
    sigset_t all, heard;

    sigfillset(&all);
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, HANDOVER_SIGNAL);
    sigaddset(&heard, SIGTERM);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return error_set(err, -errno, "watching: %s", strerror(errno));
    /* if it were ignored, children would leave no status */
    signal(SIGCHLD, SIG_DFL);
    v->signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (v->signal_fd < 0)
        return error_set(err, -errno, "signalfd: %s", strerror(errno));
    return 0;
}

/* ---- Freezing ---- */

static int
stop_one(pid_t pid, void *context)
{
    unsigned *count = context;

    if (pid > 1 && pid != getpid())
        *count += process_stop(pid);
    return 0;
}

/* Freezes by the cgroup's freezer; without one by SIGSTOP to each process,
 * repeated until none runs. SIGCONT then also continues processes that the job
 * itself has stopped. True once all processes stand still.
 */
static bool
freeze_all(const struct cgroup *cgroup)
{
    unsigned count = 0;

    if (cgroup == NULL)
        return descendants_stop() == 0;
    if (cgroup_freeze(cgroup, true) == 0)
        return cgroup_is_frozen(cgroup) == 1;
    return cgroup_visit_processes(cgroup, stop_one, &count) == 0 && count == 0;
}

static void
thaw_all(const struct cgroup *cgroup)
{
    if (cgroup == NULL)
        descendants_signal(SIGCONT, 0);
    else if (cgroup_freeze(cgroup, false) < 0)
        cgroup_signal(cgroup, SIGCONT);
}

/* The stop is repeated, because the user could continue a process that only a signal has
 * stopped, and it would run while the time limit waits.
 */
static void
hold_still(struct supervisor *v)
{
    if (!v->is_frozen || !freeze_all(v->cgroup) || v->stands_still)
        return;
    v->stands_still = true;
    v->note_frozen(v->context);
}

static void
thaw_pod(struct supervisor *v)
{
    if (!v->is_frozen)
        return;
    thaw_all(v->cgroup);
    v->frozen_us += deadline_thaw(&v->deadline, clock_boottime_us());
    v->is_frozen = v->stands_still = false;
    v->note_frozen(v->context);
}

int64_t
supervisor_frozen_us(const struct supervisor *v)
{
    return v->frozen_us + (v->is_frozen ? clock_boottime_us() - v->deadline.frozen_at_us : 0);
}

static void
set_frozen(struct supervisor *v, bool is_frozen)
{
    if (!is_frozen) {
        thaw_pod(v);
        return;
    }
    if (v->is_frozen || v->note_frozen == NULL || v->is_over || v->is_being_ended
        || v->deadline.terminated)
        return;
    v->is_frozen = true;
    deadline_freeze(&v->deadline, clock_boottime_us());
    hold_still(v);
}

/* ---- Signals ---- */

static void
signal_all(const struct supervisor *v, int signo)
{
    if (v->cgroup != NULL && signo == SIGKILL)
        cgroup_kill(v->cgroup, NULL);
    else if (v->cgroup != NULL)
        cgroup_signal(v->cgroup, signo);
    else
        descendants_signal(signo, 0);
}

/* A frozen job could not react, so it gets the signal first, and is thawed
 * then.
 */
static void
end_all(struct supervisor *v, int signo)
{
    if (signo == SIGKILL && v->killed_at_us == 0)
        v->killed_at_us = clock_monotonic_us(&clock_system);
    signal_all(v, signo);
    v->is_being_ended = v->is_told_to_end = true;
    thaw_pod(v);
}

static void
warn(const struct supervisor *v)
{
    warning_send(&v->warning, v->is_over ? 0 : v->job, v->cgroup);
}

/* ---- The checkpoint command ---- */

/* A frozen job is thawed first, because the command is in the job's cgroup, and
 * may ask the job for its state.
 */
static bool
begin_checkpoint(struct supervisor *v, int64_t grace_us)
{
    if (v->is_starting || v->is_over || v->is_told_to_end)
        return false;
    if (v->checkpoint.start != NULL && !v->checkpoint.has_begun) {
        v->is_being_ended = true;
        thaw_pod(v);
    }
    return checkpoint_begin(&v->checkpoint, v->context, grace_us, clock_monotonic_us(&clock_system))
           || v->checkpoint.pid != 0;
}

/* Ends the job now: at its time limit by SIGTERM; otherwise by the warning
 * signal that the user configured, if there is one, and the agent sends SIGTERM
 * later.
 */
static void
end_after_checkpoint(struct supervisor *v)
{
    if (v->is_over || v->is_told_to_end)
        return;
    if (v->warning.signal != 0 && !v->deadline.terminated)
        warn(v);
    else
        end_all(v, SIGTERM);
}

/* A job that has ended is not reaped yet, perhaps. */
static bool
has_job_ended(const struct supervisor *v)
{
    return v->is_over || child_end_wait(v->job_fd, 0);
}

/* Everything that the agent sends to a job is an order to end it: a signal, or
 * the checkpoint before it. Whether the order or the job's own end came first
 * decides how the job ended, because a job may handle the signal and exit with
 * 0.
 */
static void
note_order(struct supervisor *v)
{
    v->has_order |= !has_job_ended(v);
}

/* The agent's request for a checkpoint, possibly repeated by a restarted agent.
 * For a starting job it is deferred until the job runs.
 */
static void
checkpoint_and_end(struct supervisor *v, int64_t grace_us)
{
    note_order(v);
    if (v->is_starting)
        v->early_grace_us = grace_us;
    else if (!v->checkpoint.has_begun && !begin_checkpoint(v, grace_us))
        end_after_checkpoint(v);
}

static int
enforce_checkpoint(struct supervisor *v)
{
    int64_t now = clock_monotonic_us(&clock_system);

    if (checkpoint_cut(&v->checkpoint, now))
        end_after_checkpoint(v);
    return checkpoint_wait_ms(&v->checkpoint, now);
}

/* The job's pid is valid until it is reaped here, so the signal cannot reach
 * another process.
 */
static void
forward_signal(struct supervisor *v, int value)
{
    int signo = HANDOVER_SIGNO(value);

    if (signo < 1 || signo > SIGRTMAX)
        return;
    if (v->job == 0) {
        if (signo == SIGKILL || (signo == SIGTERM && v->cancelled_by == 0))
            v->cancelled_by = signo;
        return;
    }
    note_order(v);
    /* A job that does not run yet cannot react: it may be waiting to open its
     * output (a FIFO without a reader) with all signals blocked.
     */
    if (v->is_starting && HANDOVER_SCOPE(value) == LAUNCH_ALL
        && (signo == SIGTERM || signo == SIGKILL)) {
        v->cancelled_by = signo;
        end_all(v, SIGKILL);
        return;
    }
    switch (HANDOVER_SCOPE(value)) {
    case LAUNCH_MAIN:
        if (!v->is_over)
            kill(v->job, signo);
        break;
    case LAUNCH_GROUP:
        if (!v->is_over)
            kill(-v->job, signo);
        break;
    case LAUNCH_ALL:
        if (signo == SIGTERM || signo == SIGKILL)
            end_all(v, signo);
        else if (signo == v->warning.signal)
            warn(v); /* of a preemption */
        else
            signal_all(v, signo);
        break;
    }
}

static void
reap(struct supervisor *v)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (checkpoint_note_end(&v->checkpoint, pid, status, clock_monotonic_us(&clock_system)))
            end_after_checkpoint(v);
        if (pid != v->job)
            continue;
        v->status = status;
        v->is_over = true;
    }
    v->is_childless = pid < 0 && errno == ECHILD;
    if (v->is_over || !has_job_ended(v))
        return;
    if (child_end_take(v->job, &v->status) < 0)
        v->status = SIGKILL; /* nobody can tell */
    v->is_over = true;
}

/* ---- The shutdown of the node ---- */

static bool
has_ended_by_sigterm(const struct supervisor *v)
{
    return v->is_over
           && ((WIFSIGNALED(v->status) && WTERMSIG(v->status) == SIGTERM)
               || (WIFEXITED(v->status) && WEXITSTATUS(v->status) == 128 + SIGTERM));
}

/* SIGTERM to the shepherd itself: the node is being shut down, or the unit of the
 * jobs stopped. The job is ended as by an order, with the grace period for this
 * case. Of this, its own end, an order and its time limit, the first one is the
 * cause.
 */
static void
begin_shutdown(struct supervisor *v)
{
    const bool is_running = v->job != 0 && !v->is_starting;

    if (v->is_to_exit)
        return;
    v->is_to_exit = true;
    if (is_running)
        reap(v);
    v->is_shut_down = !v->has_order && !v->is_late && !v->is_fenced && v->cancelled_by == 0
                      && (!has_job_ended(v) || has_ended_by_sigterm(v));
    if (is_running) {
        v->deadline.delete_us = clock_boottime_us();
        v->deadline.delete_grace_us = v->shutdown_grace_us;
        return;
    }
    v->cancelled_by = v->cancelled_by != 0 ? v->cancelled_by : SIGTERM;
    if (v->job != 0)
        end_all(v, SIGKILL);
}

/* ---- Waiting ---- */

static void
set_limit(struct supervisor *v, int64_t seconds)
{
    int64_t now = clock_boottime_us();
    const bool has_begun = v->job != 0;

    if (!has_begun)
        v->deadline.started_us = now;
    deadline_set_limit(&v->deadline, seconds > 0 ? seconds * 1000000 : DEADLINE_NEVER, now);
}

static void
read_signals(struct supervisor *v)
{
    struct signalfd_siginfo received;

    while (read(v->signal_fd, &received, sizeof(received)) == (ssize_t)sizeof(received)) {
        const uint64_t kind = received.ssi_ptr & UINT32_MAX; /* the lower half (handover.h) */

        if (received.ssi_signo == SIGTERM)
            begin_shutdown(v);
        if (received.ssi_signo != (uint32_t)HANDOVER_SIGNAL)
            continue;
        if (kind == HANDOVER_IS_LIMIT)
            set_limit(v, HANDOVER_LIMIT_OF(received.ssi_ptr));
        else if (kind == HANDOVER_IS_FREEZE)
            set_frozen(v, HANDOVER_FREEZE_OF(received.ssi_ptr));
        else if (kind == HANDOVER_IS_USER_SIGNAL && v->job != 0 && !v->is_starting)
            warning_send_once(received.ssi_ptr, &v->signal_sequence, v->is_over ? 0 : v->job,
                              v->cgroup);
        else if (kind == HANDOVER_IS_START)
            v->may_start = true;
        else if (kind == HANDOVER_IS_CHECKPOINT && v->job == 0)
            forward_signal(v, HANDOVER_VALUE(LAUNCH_ALL, SIGTERM));
        else if (kind == HANDOVER_IS_CHECKPOINT)
            checkpoint_and_end(v, HANDOVER_CHECKPOINT_OF(received.ssi_ptr) * 1000);
        else
            forward_signal(v, received.ssi_int);
    }
}

static void
read_events(struct supervisor *v)
{
    read_signals(v);
    reap(v);
}

int
supervisor_check_cancelled(struct supervisor *v)
{
    read_signals(v);
    return v->cancelled_by;
}

static int
earlier_ms(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Does what the time limit demands now; returns the time until the next action.
 * A job that has not started cannot react to a signal, so it is killed.
 */
static int
enforce_limit(struct supervisor *v)
{
    struct deadline *d = &v->deadline;
    int64_t now = clock_boottime_us();
    int64_t next = DEADLINE_NEVER;

    for (;;) {
        switch (deadline_next(d, now, &next)) {
        case DEADLINE_WARN:
            d->warned = true;
            if (v->is_starting || v->warning.signal == 0)
                break;
            warn(v);
            break;
        case DEADLINE_TERMINATE:
            d->terminated = true;
            v->is_late |= !v->is_over && deadline_is_exceeded(d, now);
            if (!begin_checkpoint(v, v->is_to_exit ? d->delete_grace_us : d->grace_us))
                end_all(v, v->is_starting ? SIGKILL : SIGTERM);
            break;
        case DEADLINE_KILL:
            d->terminated = d->killed = true;
            v->is_late |= !v->is_over && deadline_is_exceeded(d, now);
            end_all(v, SIGKILL);
            return -1;
        case DEADLINE_WAIT:
            if (next == DEADLINE_NEVER)
                return -1;
            next = (next - now) / 1000 + 1;
            return next < LONGEST_WAIT_MS ? (int)next : LONGEST_WAIT_MS;
        }
    }
}

/* Reaps nothing, so that a job that ends at once can still be inspected. */
bool
supervisor_wait_start(struct supervisor *v, int report_fd, void (*slow)(void *context),
                      void *context, struct become_user_report *ret_report)
{
    struct pollfd fds[] = {
        {.fd = v->signal_fd, .events = POLLIN},
        {.fd = report_fd, .events = POLLIN},
    };
    bool is_slow = false;
    ssize_t n;

    v->is_starting = true;
    v->job_fd = (int)syscall(SYS_pidfd_open, v->job, 0);
    v->deadline.started_us = clock_boottime_us();
    while (fds[1].revents == 0) {
        int wait_ms = enforce_limit(v);
        int ready = poll(fds, 2, is_slow ? wait_ms : earlier_ms(wait_ms, SLOW_START_MS));

        /* A program that runs may react: its signals are read later. */
        if (ready > 0 && fds[0].revents != 0 && fds[1].revents == 0)
            read_signals(v);
        if (ready == 0 && !is_slow) {
            is_slow = true;
            slow(context);
        }
    }
    v->is_starting = false;
    n = read(report_fd, ret_report, sizeof(*ret_report));
    return n != (ssize_t)sizeof(*ret_report) && v->cancelled_by == 0 && !v->is_late;
}

/* Waits for signals, output, or that time; the caller handles other deadlines.
 */
static void
wait_for_event(struct supervisor *v, int until_ms)
{
    int note_ms;
    int64_t now_us = clock_monotonic_us(&clock_system);
    struct pollfd fds[] = {
        {.fd = v->signal_fd, .events = POLLIN},
        {.fd = output_index_watch(&v->output_index, now_us, &note_ms), .events = POLLIN},
        {.fd = v->is_over ? -1 : v->job_fd, .events = POLLIN},
    };
    int n = poll(fds, 3, earlier_ms(until_ms, note_ms));

    if (fds[0].revents != 0 || fds[2].revents != 0)
        read_events(v);
    else if (fds[1].revents != 0 || (n == 0 && note_ms >= 0))
        output_index_note(&v->output_index, clock_monotonic_us(&clock_system));
}

/* ---- Killed processes that another one holds ---- */

/* Frees killed processes that do not die because a process of the same user
 * traces them. Returns the time until the next attempt; -1: never.
 */
static int
free_held(struct supervisor *v)
{
    int64_t ms;

    if (v->killed_at_us == 0)
        return -1;
    ms = (clock_monotonic_us(&clock_system) - v->killed_at_us) / 1000;
    if (ms < HELD_MS)
        return HELD_MS - (int)ms;
    child_end_free_all(v->cgroup, v->uid);
    return HELD_MS;
}

/* Whoever stops the unit may signal the job before its shepherd. */
static void
await_shutdown(struct supervisor *v)
{
    const int64_t until = clock_monotonic_us(&clock_system) + SHUTDOWN_WAIT_MS * 1000;
    struct pollfd fd = {.fd = v->signal_fd, .events = POLLIN};
    int64_t left_ms = SHUTDOWN_WAIT_MS;

    if (v->has_order || v->is_late || v->is_fenced || !has_ended_by_sigterm(v))
        return;
    while (!v->is_to_exit && left_ms > 0) {
        poll(&fd, 1, (int)left_ms);
        read_events(v);
        left_ms = (until - clock_monotonic_us(&clock_system)) / 1000;
    }
}

void
supervisor_wait_end(struct supervisor *v)
{
    v->deadline.started_us = clock_boottime_us();
    read_events(v);
    if (v->early_grace_us > 0)
        checkpoint_and_end(v, v->early_grace_us);
    while (!v->is_over || v->checkpoint.pid != 0) {
        int limit_ms = earlier_ms(enforce_limit(v), enforce_checkpoint(v));
        int wait_ms = v->is_fenced ? -1 : fence_wait_ms(&v->fence);

        hold_still(v);
        if (v->is_frozen)
            limit_ms = earlier_ms(limit_ms, v->stands_still ? FREEZE_AGAIN_MS : FREEZE_LOOK_MS);
        limit_ms = earlier_ms(limit_ms, free_held(v));
        if (wait_ms == 0) {
            v->is_fenced = true;
            end_all(v, SIGKILL);
        } else
            wait_for_event(v, earlier_ms(wait_ms, limit_ms));
    }
    await_shutdown(v);
    output_index_end(&v->output_index);
}

static int
count_one(UNUSED pid_t pid, void *context)
{
    ++*(unsigned *)context;
    return 0;
}

/* Whether all children that are left are dead and cannot be reaped. */
static bool
has_only_dead(struct supervisor *v)
{
    unsigned count = 0;

    if (descendants_visit(count_one, &count) < 0 || count > 0)
        return false;
    reap(v);
    return true;
}

static bool
has_no_processes(struct supervisor *v)
{
    return (v->cgroup == NULL || cgroup_is_empty(v->cgroup) == 1)
           && (v->is_childless || has_only_dead(v));
}

/* Ends early when a child ends or, on v2, the cgroup becomes empty. */
static void
pause_for(struct supervisor *v, int events_fd, int ms)
{
    struct pollfd fds[] = {
        {.fd = v->signal_fd, .events = POLLIN},
        {.fd = events_fd, .events = POLLPRI},
    };

    poll(fds, 2, ms);
    read_events(v);
}

static int
open_events(const struct supervisor *v)
{
    CLEANUP_FREE char *path = v->cgroup == NULL ? NULL : cgroup_dup_events_path(v->cgroup);

    return path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

bool
supervisor_kill_rest(struct supervisor *v, int64_t wait_ms)
{
    int64_t until = clock_monotonic_us(&clock_system) + wait_ms * 1000;
    int pause_ms = FIRST_PAUSE_MS;
    int events_fd;

    reap(v);
    if (has_no_processes(v)) {
        thaw_pod(v); /* otherwise the cgroup would be reused frozen */
        return true;
    }
    events_fd = open_events(v);
    do {
        end_all(v, SIGKILL);
        if (v->cgroup != NULL)
            descendants_signal(SIGKILL, 0);
        (void)free_held(v);
        pause_for(v, events_fd, pause_ms);
        pause_ms = (int)backoff_next(pause_ms, FIRST_PAUSE_MS, LAST_PAUSE_MS);
    } while (!has_no_processes(v) && clock_monotonic_us(&clock_system) < until);
    if (events_fd >= 0)
        close(events_fd);
    return has_no_processes(v);
}
