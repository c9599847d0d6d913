/* SPDX-License-Identifier: Apache-2.0 */
/* shepherd_watch.c - a run while its shepherd lives: its start, its deadline,
 * its deletion
 *
 * The shepherd outlives the agent and keeps the time limit itself, so an agent only tells it what
 * the API wants, and tells it again whenever it is not sure: each message may come twice, and
 * no record is kept of what was sent. The agent alone decides about the end that
 * a deletion orders, because a shepherd has no part in the API, and about the limit of a shepherd
 * of an older release. A time is taken from the monotonic clock, less what the pod was
 * frozen for.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/placement_watch.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run_state.h"
#include "agent/pods/status_patch.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/fork_server.h"
#include "agent/shepherd/launch.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"

#define DEFAULT_GRACE_S 30
#define LOOK_FIRST_MS   10
#define LOOK_MORE_MS    5 /* for each other run in phase LAUNCHED */
#define LOOK_MOST_MS    250
#define LOOK_LAST_MS    500
#define FREEZE_FIRST_MS 10
#define FREEZE_LAST_MS  1000
#define FREEZE_LENT_MS  100
#define TELL_ENDING_MS  500

/* Whether the shepherd itself keeps the present limit. A shepherd of an older
 * release keeps none, or only the limit that it was started with.
 */
static bool
keeps_limit(const struct pod_run *s)
{
    return s->live != NULL && s->live->keeps_limit >= (s->is_limit_changed ? 2 : 1);
}

static void
note_exceeded(struct pod_run *s, int64_t now_us)
{
    if (s->exceeded_at_us != 0 || !deadline_is_exceeded(&s->deadline, now_us))
        return;
    s->exceeded_at_us = clock_real_us(s->s.agent->clock);
    s->tell_ending_us = now_us + TELL_ENDING_MS * 1000;
}

/* Reports a pod that is over its limit and has not ended yet. Most pods end on
 * SIGTERM at once, and need no report but that of their end. Returns when to
 * look again.
 */
static int64_t
report_ending(struct pod_run *s, int64_t now_us, int64_t next_us)
{
    if (s->exceeded_at_us == 0 || s->told_ending || s->phase != POD_RUN_RUNNING)
        return next_us;
    if (s->tell_ending_us > now_us)
        return s->tell_ending_us < next_us ? s->tell_ending_us : next_us;
    s->told_ending = true;
    status_report_repeat(s);
    return next_us;
}

void
shepherd_watch_enforce(void *context)
{
    struct pod_run *s = context;
    int64_t now = clock_monotonic_us(s->s.agent->clock);
    int64_t next = DEADLINE_NEVER;
    const struct execution *e = pod_of(s->pod)->spec.execution;

    for (;;) {
        switch (deadline_next(&s->deadline, now, &next)) {
        case DEADLINE_WARN:
            s->deadline.warned = true;
            if (keeps_limit(s))
                break;
            launch_signal(s->pidfd, e->signal->batch_only ? LAUNCH_MAIN : LAUNCH_ALL,
                          pod_host_parse_signal(e->signal->name), NULL);
            break;
        case DEADLINE_TERMINATE:
            s->deadline.terminated = true;
            note_exceeded(s, now);
            if (!keeps_limit(s) || s->deadline.delete_us <= now)
                launch_signal(s->pidfd, LAUNCH_ALL, SIGTERM, NULL);
            break;
        case DEADLINE_KILL:
            s->deadline.terminated = s->deadline.killed = true;
            note_exceeded(s, now);
            launch_signal(s->pidfd, LAUNCH_ALL, SIGKILL, NULL);
            pod_run_note_kill(s, now);
            timer_start(s->deadline_timer, UNKILLABLE_MS);
            return;
        case DEADLINE_WAIT:
            if (s->deadline.killed)
                pod_run_check_killed(s);
            next = report_ending(s, now, next);
            if (next != DEADLINE_NEVER)
                timer_start(s->deadline_timer, (next - now) / 1000 + 1);
            return;
        }
    }
}

static int64_t
grace_us(const struct object *pod)
{
    const int64_t *s = pod_of(pod)->spec.termination_grace_seconds;

    return (s != NULL ? *s : DEFAULT_GRACE_S) * 1000000;
}

/* Whether the pod is being preempted, and its user wants a warning signal. */
static bool
is_warned_of_preemption(const struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    return !s->deadline.is_frozen && c != NULL && c->reason != NULL
           && strcmp(c->reason, REASON_PREEMPTION_BY_SCHEDULER) == 0 && pod->spec.execution != NULL
           && pod->spec.execution->signal != NULL;
}

/* Whether the checkpoint command is to run: the pod ends to make room for
 * others or to restart, and not because its user deleted it.
 */
static bool
runs_checkpoint(const struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);
    const struct execution *e = pod->spec.execution;
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    if (e == NULL || e->checkpoint_command == NULL || e->checkpoint_command[0] == '\0'
        || s->live == NULL || s->live->keeps_limit < LIVE_CAN_CHECKPOINT)
        return false;
    return (c != NULL && strcmp(c->status, "True") == 0)
           || string_map_find(&s->pod->meta->annotations, ANNOTATION_CHECKPOINT) != NULL;
}

/* The grace period begins with the checkpoint command, after which the shepherd
 * continues, or with the signal that the user configured. The rest is as
 * without a warning, shortly before the grace period ends.
 */
static void
warn_of_preemption(struct pod_run *s)
{
    const struct execution *e = pod_of(s->pod)->spec.execution;
    struct deadline *d = &s->deadline;
    const int64_t grace_us = d->delete_grace_us;
    const int64_t last_us = deadline_last_us(grace_us);
    const bool saves = runs_checkpoint(s);

    if (s->is_preemption_warned || s->phase != POD_RUN_RUNNING || s->pidfd < 0 || d->terminated
        || grace_us <= 0 || (!saves && !is_warned_of_preemption(s)))
        return;
    s->is_preemption_warned = true;
    d->delete_us += grace_us - last_us;
    d->delete_grace_us = last_us;
    if (saves) {
        launch_checkpoint(s->pidfd, grace_us / 1000, NULL);
        return;
    }
    launch_signal(s->pidfd, e->signal->batch_only ? LAUNCH_MAIN : LAUNCH_ALL,
                  pod_host_parse_signal(e->signal->name), NULL);
}

/* Whether another pod needs the cores of this frozen pod, which is then killed
 * without running again.
 */
static bool
stands_for_another(const struct pod_run *s)
{
    return s->live != NULL && s->live->frozen_at_us != 0
           && (pod_find_yield(pod_of(s->pod)) != NULL
               || (s->s.has_lent != NULL && s->s.has_lent(s, s->s.context)));
}

/* Another deletion has a shorter grace period. */
static void
end_sooner(struct pod_run *s, int64_t grace_us)
{
    if (grace_us >= s->delete_grace_us)
        return;
    s->delete_grace_us = grace_us;
    s->deadline.delete_us = clock_monotonic_us(s->s.agent->clock);
    s->deadline.delete_grace_us = grace_us;
}

void
shepherd_watch_note_deletion(struct pod_run *s)
{
    const struct meta *meta = s->pod->meta;
    int64_t grace =
        meta->deletion_grace_s != NULL ? *meta->deletion_grace_s * 1000000 : grace_us(s->pod);

    if (!pod_run_is_unwanted(s))
        return;
    if (pod_run_is_abandoned(s) || stands_for_another(s))
        grace = 0;
    if (s->is_preemption_warned) {
        end_sooner(s, grace);
        return;
    }
    if (s->deadline.delete_us == DEADLINE_NEVER)
        s->deadline.delete_us = clock_monotonic_us(s->s.agent->clock);
    if (grace < s->deadline.delete_grace_us)
        s->deadline.delete_grace_us = grace;
    s->delete_grace_us = s->deadline.delete_grace_us;
    warn_of_preemption(s);
}

static int64_t
limit_seconds(const struct pod_run *s)
{
    const int64_t *limit = pod_of(s->pod)->spec.active_deadline_seconds;

    return limit != NULL ? *limit : 0;
}

static void
set_limit(struct pod_run *s)
{
    const int64_t seconds = limit_seconds(s);

    deadline_set_limit(&s->deadline, seconds > 0 ? seconds * 1000000 : DEADLINE_NEVER,
                       clock_monotonic_us(s->s.agent->clock));
}

/* Every agent that finds the pod running sends the limit again: that is cheap,
 * and saves a record of what was sent. If the shepherd cannot keep the limit,
 * the agent does, but it can only end the pod earlier than the shepherd would.
 */
static void
send_limit(struct pod_run *s)
{
    struct error err = {0};

    s->is_limit_changed = true;
    if (launch_set_limit(s->pidfd, limit_seconds(s), &err) < 0)
        log_debug("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name, err.text);
    if (s->live == NULL || keeps_limit(s))
        return;
    log_warning("pod '%s/%s' was started by an earlier release: it ends at "
                "the time limit it was started with, if that is the earlier "
                "one",
                s->pod->meta->namespace, s->pod->meta->name);
}

void
shepherd_watch_note_limit(struct pod_run *s)
{
    send_limit(s);
    if (s->phase != POD_RUN_RUNNING)
        return;
    set_limit(s);
    shepherd_watch_enforce(s);
}

/* ---- Freezing ---- */

/* The pod's annotation is the desired state, the live record the actual one.
 * The shepherd is told whenever the desired state changes, and by each agent
 * that finds the pod running, which saves a record of what was sent. The
 * shepherd does the freezing, because it keeps the time limit, and survives the
 * agent.
 */
const char *
shepherd_watch_freezer(const struct pod_run *s)
{
    return string_map_find(&s->pod->meta->annotations, ANNOTATION_FREEZE);
}

static bool
has_wish(const struct pod_run *s)
{
    return shepherd_watch_freezer(s) != NULL || pod_find_yield(pod_of(s->pod)) != NULL;
}

/* The pod stays frozen until the pods on its cores are gone here, even if the
 * API considers them gone already.
 */
static bool
is_to_stand(const struct pod_run *s)
{
    return has_wish(s)
           || (s->live->frozen_at_us != 0 && s->s.has_lent != NULL
               && s->s.has_lent(s, s->s.context));
}

static bool
is_as_wanted(const struct pod_run *s)
{
    return (s->live->frozen_at_us != 0) == is_to_stand(s);
}

/* Only the total of former freezes is known on the monotonic clock; the start
 * of the present freeze does not matter until its end.
 */
static void
take_freeze(struct pod_run *s)
{
    s->deadline.is_frozen = false;
    s->deadline.started_us = s->began_us + s->live->frozen_us;
    if (s->live->frozen_at_us != 0 || (s->live->keeps_limit >= LIVE_CAN_FREEZE && has_wish(s)))
        deadline_freeze(&s->deadline, clock_monotonic_us(s->s.agent->clock));
}

static void
refuse(struct pod_run *s)
{
    if (s->is_freeze_refused || !has_wish(s))
        return;
    s->is_freeze_refused = true;
    log_warning("pod '%s/%s' cannot be suspended: it was started by an "
                "earlier release",
                s->pod->meta->namespace, s->pod->meta->name);
    pod_run_record(s, RECORD_WARNING, EVENT_CANNOT_SUSPEND,
                   "it was started by an earlier release, and "
                   "continues to run");
    status_report_repeat(s);
}

/* A pod that is being ended is thawed by its shepherd, and not frozen again. */
static bool
is_over(const struct pod_run *s)
{
    return s->pidfd < 0 || s->phase != POD_RUN_RUNNING || s->deadline.delete_us != DEADLINE_NEVER
           || s->deadline.terminated;
}

static void
send_freeze(struct pod_run *s)
{
    struct error err = {0};

    if (launch_set_frozen(s->pidfd, is_to_stand(s), &err) < 0)
        log_debug("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name, err.text);
}

void
shepherd_watch_note_freeze(struct pod_run *s)
{
    timer_stop(s->freeze_timer);
    if (is_over(s) || s->live == NULL)
        return;
    if (s->live->keeps_limit < LIVE_CAN_FREEZE) {
        refuse(s);
        return;
    }
    take_freeze(s);
    send_freeze(s);
    s->freeze_look_ms = FREEZE_FIRST_MS;
    timer_start(s->freeze_timer, s->freeze_look_ms);
}

/* A new pod that is not to be frozen needs no message. */
static void
begin_freeze(struct pod_run *s)
{
    if (s->found == FOUND_RUNNING || has_wish(s))
        shepherd_watch_note_freeze(s);
}

static void
take_standing(struct pod_run *s)
{
    const struct agent_context *g = s->s.agent;

    take_freeze(s);
    if (s->cgroup == NULL && g->freeze_steps != NULL)
        g->freeze_steps(s->uid, s->live->frozen_at_us != 0, g->steps_context);
    if (s->told_frozen_at_us != s->live->frozen_at_us || s->told_frozen_us != s->live->frozen_us
        || s->told_yielding != (pod_find_yield(pod_of(s->pod)) != NULL)) {
        status_report_repeat(s);
        s->s.holding_changed(s, s->s.context);
    }
    shepherd_watch_enforce(s);
}

/* Polls the live record in /run with growing intervals, and repeats the
 * message, which is cheap.
 */
void
shepherd_watch_check_freeze(void *context)
{
    struct pod_run *s = context;
    struct live_record *live;

    if (is_over(s))
        return;
    live = pod_host_read_live(s->s.agent, s->uid);
    if (live != NULL) {
        live_record_free(s->live);
        s->live = live;
    }
    if (is_as_wanted(s)) {
        take_standing(s);
        if (!has_wish(s) && is_to_stand(s))
            timer_start(s->freeze_timer, FREEZE_LENT_MS);
        return;
    }
    send_freeze(s);
    s->freeze_look_ms = backoff_next(s->freeze_look_ms, FREEZE_FIRST_MS, FREEZE_LAST_MS);
    timer_start(s->freeze_timer, s->freeze_look_ms);
}

/* ---- Signals of users ---- */

static void
refuse_signal(struct pod_run *s)
{
    log_warning("pod '%s/%s' gets no signal: it was started by an earlier release",
                s->pod->meta->namespace, s->pod->meta->name);
    pod_run_record(s, RECORD_WARNING, EVENT_CANNOT_SIGNAL,
                   "it was started by an earlier release, and gets no signals");
}

/* Each agent that finds the pod running sends all of the list again, because the
 * shepherd sends none twice. A message that fails is tried again when the pod changes.
 */
void
shepherd_watch_send_signals(struct pod_run *s)
{
    const char *list = string_map_find(&s->pod->meta->annotations, ANNOTATION_SIGNALS);
    struct pod_signal one;

    if (s->phase != POD_RUN_RUNNING || s->pidfd < 0 || s->live == NULL)
        return;
    while (pod_signals_next(&list, &one)) {
        if (one.sequence <= s->signal_sequence)
            continue;
        if (one.target == POD_SIGNAL_STEP)
            s->s.agent->signal_step(s->uid, &one, s->s.agent->steps_context);
        else if (s->live->keeps_limit < LIVE_CAN_SIGNAL)
            refuse_signal(s);
        else if (launch_user_signal(s->pidfd, &one, NULL) < 0)
            return;
        s->signal_sequence = one.sequence;
    }
}

/* ---- The start ---- */

/* The limit counts the time since the start on CLOCK_BOOTTIME: the real clock
 * may have been set since then, while the job ran for as long as it ran.
 */
static void
begin_deadline(struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);
    const struct agent_context *g = s->s.agent;
    int64_t ago = clock_boottime_us() - live_record_started_boot_us(s->live);

    s->began_us = clock_monotonic_us(g->clock) - (ago > 0 ? ago : 0);
    take_freeze(s);
    set_limit(s);
    if (string_map_find(&s->pod->meta->annotations, ANNOTATION_UPDATE) != NULL)
        send_limit(s);
    if (pod->spec.execution != NULL && pod->spec.execution->signal != NULL)
        s->deadline.warn_us = pod->spec.execution->signal->seconds_before * 1000000;
    s->deadline.grace_us = grace_us(s->pod);
    shepherd_watch_enforce(s);
}

/* A job that ends before the first poll is never reported as running, which
 * halves the API's writes for it. When many pods are launched at once, as is
 * usual for short jobs, a longer delay is worthwhile.
 */
static int64_t
first_poll_ms(const struct pod_run *s)
{
    int64_t ms = LOOK_FIRST_MS + (*s->s.n_launched - 1) * LOOK_MORE_MS;

    return ms < LOOK_MOST_MS ? ms : LOOK_MOST_MS;
}

static void
report_waiting(struct pod_run *s)
{
    CLEANUP_FREE char *words = NULL;

    if (s->wanted >= REPORT_WAITING)
        return;
    words = xasprintf("it waits for its %s", s->live->waits_for);
    log_warning("pod '%s/%s' does not start: %s", s->pod->meta->namespace, s->pod->meta->name,
                words);
    pod_run_record(s, RECORD_WARNING, REASON_START_BLOCKED, words);
    status_report_request(s, REPORT_WAITING);
}

/* Polls the live record in /run, which is cheap, with growing intervals. */
void
shepherd_watch_poll(void *context)
{
    struct pod_run *s = context;

    live_record_free(s->live);
    s->live = pod_host_read_live(s->s.agent, s->uid);
    if (s->live == NULL || s->live->phase < LIVE_RUNNING) {
        if (s->live != NULL && s->live->waits_for != NULL)
            report_waiting(s);
        pod_run_advance_start(s);
        s->poll_ms = backoff_next(s->poll_ms, LOOK_FIRST_MS, LOOK_LAST_MS);
        timer_start(s->poll_timer, s->poll_ms);
        return;
    }
    pod_run_set_phase(s, POD_RUN_RUNNING);
    pod_run_note_start(s, NULL);
    begin_deadline(s);
    status_report_request(s, REPORT_RUNNING);
    begin_freeze(s);
    shepherd_watch_send_signals(s);
    placement_watch_begin(s->placement,
                          &(struct placement_watch_process){.cgroup = s->cgroup,
                                                            .pid = (pid_t)s->live->job_pid,
                                                            .start = s->live->job_start},
                          s->found == FOUND_RUNNING);
}

void
shepherd_watch_poll_soon(struct pod_run *s)
{
    s->poll_ms = LOOK_FIRST_MS;
    timer_start(s->poll_timer, s->poll_ms);
}

static void
note_end(struct pod_run *s)
{
    timer_stop(s->poll_timer);
    timer_stop(s->deadline_timer);
    timer_stop(s->freeze_timer);
    placement_watch_end(s->placement);
    pod_run_set_phase(s, POD_RUN_ENDED);
    pod_run_clean_up(s);
}

static void
on_shepherd_ended(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct pod_run *s = context;
    siginfo_t info;

    fdwatch_free(s->end_watch);
    s->end_watch = NULL;
    (void)waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOHANG);
    close(s->pidfd);
    s->pidfd = -1;
    note_end(s);
}

static void
watch_end(struct pod_run *s)
{
    s->end_watch = fdwatch_new(s->s.agent->loop, s->pidfd, FDWATCH_READ, on_shepherd_ended, s);
}

/* The shepherd has finished the pod and waits for another, or it ends. */
static void
on_shepherd_done(UNUSED int fd, UNUSED unsigned ready, void *context)
{
    struct pod_run *s = context;
    const struct shepherd_process process = {
        .pidfd = s->pidfd,
        .channel = s->channel,
    };
    bool is_done;

    fdwatch_free(s->end_watch);
    s->end_watch = NULL;
    is_done = fork_server_take_back(s->s.agent->fork_server, &process);
    s->channel = -1;
    if (is_done) {
        s->pidfd = -1;
        note_end(s);
    } else
        watch_end(s);
}

void
shepherd_watch_begin(struct pod_run *s)
{
    if (s->channel >= 0)
        s->end_watch = fdwatch_new(s->s.agent->loop, s->channel, FDWATCH_READ, on_shepherd_done, s);
    else
        watch_end(s);
    s->poll_ms = first_poll_ms(s);
    timer_start(s->poll_timer, s->poll_ms);
    shepherd_watch_note_deletion(s);
    if (s->deadline.delete_us != DEADLINE_NEVER)
        shepherd_watch_enforce(s);
}
