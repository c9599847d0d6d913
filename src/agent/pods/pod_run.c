/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run.c - the phases of a run: its start, its end, and what the API changes meanwhile
 *
 * Each event may come at any time: a deletion while a worker makes the cgroup, the news that the
 * pod is forgotten while its end is read. So an event is noted in one of the run's states, and the
 * work that is under way finds it there when it calls back. How a pod ended is decided once,
 * when nothing of it is left, and whoever ordered an end first decides what it was; what an agent
 * finds after a restart is read from files, and a pod of which nothing is left is not the job's
 * fault.
 */
#include "agent/pods/pod_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/placement_watch.h"
#include "agent/pods/pod_cleanup.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run_state.h"
#include "agent/pods/pod_start.h"
#include "agent/pods/run_end.h"
#include "agent/pods/unkillable.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/launch.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"

#define HOLD_MS  1000
#define AGAIN_MS 500
#define STEPS_MS 10 /* between looks whether the pod's steps are over */

/* ---- Life ---- */

static void
destroy(struct pod_run *s)
{
    object_unref(s->pod);
    fdwatch_free(s->end_watch);
    if (s->pidfd >= 0)
        close(s->pidfd);
    if (s->channel >= 0)
        close(s->channel);
    timer_free(s->poll_timer);
    timer_free(s->deadline_timer);
    timer_free(s->freeze_timer);
    timer_free(s->clean_timer);
    timer_free(s->report_timer);
    timer_free(s->hold_timer);
    placement_watch_free(s->placement);
    cgroup_free(s->cgroup);
    free(s->tmp_dir);
    live_record_free(s->live);
    run_end_fini(&s->end);
    free(s->end_report);
    free(s->uid);
    free(s);
}

void
pod_run_free(struct pod_run *s)
{
    if (s == NULL)
        return;
    s->freed = true;
    timer_stop(s->poll_timer);
    timer_stop(s->deadline_timer);
    timer_stop(s->freeze_timer);
    timer_stop(s->clean_timer);
    timer_stop(s->report_timer);
    placement_watch_end(s->placement);
    timer_stop(s->hold_timer);
    if (s->call != NULL) { /* an agent that ends handles no answer */
        client_cancel(s->call);
        s->busy--;
    }
    if (s->busy == 0)
        destroy(s);
}

void
pod_run_begin_work(struct pod_run *s)
{
    s->busy++;
}

bool
pod_run_end_work(struct pod_run *s)
{
    s->busy--;
    if (!s->freed)
        return true;
    if (s->busy == 0)
        destroy(s);
    return false;
}

void
pod_run_check_over(struct pod_run *s)
{
    bool deleted = s->pod->meta->deleted_at_us != 0;

    if (s->phase != POD_RUN_DONE || s->busy > 0)
        return;
    if (s->api_state == POD_RUN_FORGOTTEN
        || (!deleted && (s->api_state == POD_RUN_GIVEN_UP || s->reported == REPORT_END))) {
        status_report_note_end(s);
        s->s.over(s, s->s.context);
    }
}

/* ---- The end ---- */

/* An agent that was killed while it started the pod has left files and a
 * cgroup. They are removed before the end is reported, because nobody looks for
 * them afterwards.
 */
static bool
clean_first(struct pod_run *s, bool is_silent)
{
    if (s->phase > POD_RUN_PREPARING || !pod_host_has_run_dir(s->s.agent, s->uid))
        return false;
    if (is_silent)
        s->wanted = s->reported = REPORT_END;
    if (s->cgroup == NULL)
        s->cgroup = pod_host_find_cgroup(s->s.agent, s->uid);
    pod_run_set_phase(s, POD_RUN_ENDED);
    pod_run_clean_up(s);
    return true;
}

/* For a pod that was deleted before it ran, or was over before it arrived: its
 * end is not reported.
 */
static void
finish_silently(struct pod_run *s)
{
    if (clean_first(s, true))
        return;
    pod_run_set_phase(s, POD_RUN_DONE);
    s->wanted = s->reported = REPORT_END;
    status_report_send(s);
}

static void
finish(struct pod_run *s)
{
    if (s->api_state == POD_RUN_GIVEN_UP) {
        finish_silently(s);
        return;
    }
    if (clean_first(s, false))
        return;
    pod_run_set_phase(s, POD_RUN_DONE);
    status_report_request(s, REPORT_END);
}

/* The text without quoted paths. */
static char *
dup_without_paths(const char *message)
{
    struct strbuf text = STRBUF_INIT;
    const char *path;

    while ((path = strstr(message, "'/")) != NULL) {
        const char *end = strchr(path + 1, '\'');

        strbuf_add(&text, message, (size_t)(path - message));
        strbuf_add_text(&text, "(path in the status)");
        message = end != NULL ? end + 1 : path + strlen(path);
    }
    strbuf_add_text(&text, message);
    return strbuf_take(&text);
}

void
pod_run_record(const struct pod_run *s, enum recorded_event_kind kind, const char *reason,
               const char *message)
{
    CLEANUP_FREE char *text = dup_without_paths(message);

    event_recorder_record(s->s.agent->event_recorder, s->pod, kind, reason, text);
}

void
pod_run_refuse(struct pod_run *s, const char *reason, const char *message)
{
    run_end_set(&s->end, reason, message);
    /* The scheduler's wrong placement is not the job's fault. */
    s->end.is_disruption = strcmp(reason, REASON_NODE_BROKEN) == 0
                           || strcmp(reason, REASON_ALLOCATION_OVERLAP) == 0
                           || strcmp(reason, REASON_ALLOCATION_NOT_HERE) == 0;
    log_warning("pod '%s/%s' is refused: %s", s->pod->meta->namespace, s->pod->meta->name, message);
    pod_run_record(s, RECORD_WARNING, reason, message);
    finish(s);
}

void
pod_run_dismiss(struct pod_run *s)
{
    finish_silently(s);
}

/* ---- The start ---- */

void
pod_run_note_start(const struct pod_run *s, const char *failure)
{
    const struct agent_context *agent = s->s.agent;

    if (agent->note_start != NULL)
        agent->note_start(failure, agent->start_context);
}

/* For a reason that is not the pod's own: it is tried elsewhere. */
static void
fail_start(struct pod_run *s, const char *words)
{
    if (s->end.reason == NULL)
        run_end_set(&s->end, REASON_START_ERROR, words);
    s->end.is_disruption = true;
    log_warning("pod '%s/%s' cannot be started: %s", s->pod->meta->namespace, s->pod->meta->name,
                words);
    pod_run_record(s, RECORD_WARNING, EVENT_START_ERROR, words);
    pod_run_note_start(s, words);
}

static void
on_made(struct pod_run *s, struct cgroup *cgroup, const struct shepherd_process *shepherd,
        char *tmp_dir)
{
    s->cgroup = cgroup;
    s->pidfd = shepherd->pidfd;
    s->channel = shepherd->channel;
    free(s->tmp_dir);
    s->tmp_dir = tmp_dir;
}

static void
on_start_done(struct pod_run *s, const struct pod_start_result *result)
{
    switch (result->outcome) {
    case POD_START_STARTED:
        pod_run_set_phase(s, POD_RUN_LAUNCHED);
        shepherd_watch_begin(s);
        break;
    case POD_START_FAILED:
        if (result->is_nodes_fault)
            fail_start(s, result->words);
        else
            run_end_set(&s->end, REASON_START_ERROR, result->words);
        pod_run_set_phase(s, POD_RUN_ENDED);
        pod_run_clean_up(s);
        break;
    case POD_START_NOT_BEGUN:
        run_end_set(&s->end, REASON_START_ERROR, result->words);
        finish(s);
        break;
    case POD_START_UNWANTED:
        finish_silently(s);
        break;
    }
}

static void
begin_start(struct pod_run *s)
{
    pod_run_set_phase(s, POD_RUN_PREPARING);
    pod_start_begin(&(struct pod_start_settings){
        .run = s,
        .agent = s->s.agent,
        .blobs = s->s.blobs,
        .group_nodes = s->s.group_nodes,
        .pod_mounts = s->s.pod_mounts,
        .shared_pool = s->s.shared_pool,
        .made = on_made,
        .done = on_start_done,
    });
}

static bool
is_node_broken(const struct pod_run *s)
{
    const struct agent_context *agent = s->s.agent;

    return agent->broken != NULL && agent->broken(agent->start_context) != NULL;
}

static void
start(struct pod_run *s)
{
    struct error err = {0};
    int r;

    if (s->pod->meta->deleted_at_us != 0) {
        finish_silently(s);
        return;
    }
    r = pod_order_check(s->s.agent, s->pod, &err);
    if (r < 0) {
        pod_run_refuse(s, r == -ENODEV ? REASON_ALLOCATION_NOT_HERE : REASON_REFUSED, err.text);
        return;
    }
    /* refused after a pause, so that retries do not spin */
    if (is_node_broken(s)) {
        pod_run_set_phase(s, POD_RUN_HELD);
        timer_start(s->hold_timer, HOLD_MS);
    } else
        begin_start(s);
}

/* If the node was repaired meanwhile, the pod starts after all. */
static void
end_hold(void *context)
{
    struct pod_run *s = context;

    if (s->phase != POD_RUN_HELD)
        return;
    if (pod_run_is_unwanted(s))
        finish_silently(s);
    else if (is_node_broken(s))
        pod_run_refuse(s, REASON_NODE_BROKEN, s->s.agent->broken(s->s.agent->start_context));
    else
        begin_start(s);
}

/* ---- After a restart of the agent ---- */

static bool
was_started(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL && (strcmp(phase, "Running") == 0 || strcmp(phase, "Unknown") == 0);
}

bool
pod_run_is_past(const struct agent_context *agent, const struct object *pod)
{
    CLEANUP(exit_record_freep) struct exit_record *e = NULL;
    const char *uid = pod->meta->uid;

    if (pod_host_exists(agent, uid))
        e = pod_host_read_ending(agent, uid);
    return e != NULL || (was_started(pod) && !pod_host_has_run_dir(agent, uid));
}

/* Without a record, the boot id that the API knows decides. A pod that only
 * STATE knows was begun before /run was emptied.
 */
static enum pod_boot
find_boot(const struct pod_run *s)
{
    const struct observed *o = pod_of(s->pod)->status.observed;
    enum pod_boot boot = pod_host_read_boot(s->s.agent, s->uid);

    if (boot != POD_BOOT_UNKNOWN)
        return boot;
    if (o != NULL && o->node_boot_id != NULL)
        return strcmp(o->node_boot_id, s->s.agent->boot_id) == 0 ? POD_BOOT_UNKNOWN
                                                                 : POD_BOOT_EARLIER;
    return pod_host_exists(s->s.agent, s->uid) ? POD_BOOT_EARLIER : POD_BOOT_UNKNOWN;
}

/* For the present boot no reason is set here: pod_cleanup.c finds that the
 * shepherd was killed.
 */
static void
resume_lost(struct pod_run *s, enum pod_boot boot)
{
    if (boot == POD_BOOT_EARLIER)
        run_end_set(&s->end, REASON_NODE_REBOOTED,
                    "the node was restarted while the pod ran on it");
    else if (boot == POD_BOOT_UNKNOWN)
        run_end_set(&s->end, REASON_POD_LOST,
                    "nothing is left of it on its node, which was not "
                    "restarted meanwhile: its files were removed, or the "
                    "controller was restored to a state before its end");
    s->end.is_disruption = true;
    pod_run_set_phase(s, POD_RUN_ENDED);
    pod_run_clean_up(s);
}

void
pod_run_resume(struct pod_run *s)
{
    const struct agent_context *agent = s->s.agent;
    enum pod_boot boot;

    if (!pod_host_exists(agent, s->uid) && !was_started(s->pod)) {
        start(s);
        return;
    }
    s->live = pod_host_read_live(agent, s->uid);
    s->end.record = pod_host_read_ending(agent, s->uid);
    pod_host_read_gpu_use(agent, s->uid, &s->gpu_use);
    s->cgroup = pod_host_find_cgroup(agent, s->uid);
    if (s->end.record != NULL) {
        s->found = FOUND_ENDED;
        pod_run_set_phase(s, POD_RUN_ENDED);
        pod_run_clean_up(s);
        return;
    }
    if (s->live != NULL)
        s->pidfd = pod_host_open_shepherd(agent, s->uid, s->live);
    boot = find_boot(s);
    if (s->pidfd >= 0) {
        log_info("pod '%s/%s' still runs, supervising it again", s->pod->meta->namespace,
                 s->pod->meta->name);
        s->found = FOUND_RUNNING;
        pod_run_set_phase(s, POD_RUN_LAUNCHED);
        shepherd_watch_begin(s);
    } else if (was_started(s->pod) || boot == POD_BOOT_EARLIER
               || (s->live != NULL && s->live->phase > LIVE_PREPARING)) {
        resume_lost(s, boot);
    } else {
        start(s);
    }
}

/* ---- The start barrier of a gang ---- */

/* The pod's condition Prepared is what this agent reports, its annotation
 * ANNOTATION_GANG_STARTED what it is told; both are in the store, so a restarted agent
 * continues. The shepherd is told again until its record shows that it has started,
 * which saves a record of what was sent.
 */

/* Without the condition: a running pod is prepared, too, but has nothing to report. */
static bool
is_reported(const struct pod *pod)
{
    return pod_find_condition(pod, CONDITION_PREPARED) != NULL && pod_is_prepared(pod);
}

static void
let_start(const struct pod_run *s)
{
    struct error err = {0};

    if (launch_let_start(s->pidfd, &err) < 0)
        log_debug("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name, err.text);
}

void
pod_run_advance_start(struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);

    if (pod_start_barrier(pod) == 0 || s->wanted > REPORT_PREPARED)
        return;
    if (!pod_awaits_start(pod))
        let_start(s);
    else if (s->live == NULL || s->live->is_prepared == 0)
        return;
    else if (is_reported(pod) && s->wanted < REPORT_PREPARED) /* by an earlier agent */
        s->wanted = s->reported = REPORT_PREPARED;
    else
        status_report_request(s, REPORT_PREPARED);
}

/* An older store that was put back does not have the report. */
static void
note_barrier(struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);

    if (s->phase != POD_RUN_LAUNCHED || s->pidfd < 0 || pod_start_barrier(pod) == 0)
        return;
    if (!pod_awaits_start(pod)) {
        let_start(s);
        shepherd_watch_poll_soon(s);
    } else if (s->wanted == REPORT_PREPARED && s->reported == REPORT_PREPARED && s->call == NULL
               && !is_reported(pod)) {
        status_report_repeat(s);
    }
}

/* ---- Processes that do not end ---- */

void
pod_run_note_kill(struct pod_run *s, int64_t now_us)
{
    s->killed_at_us = now_us;
    if (s->kill_state == POD_RUN_NOT_KILLED)
        pod_run_set_kill_state(s, POD_RUN_KILLED);
}

/* Killed processes were seen. Their cores stay allocated, and an event reports them. */
static void
note_killed(struct pod_run *s, const struct unkillable *u)
{
    int64_t now = clock_monotonic_us(s->s.agent->clock);
    CLEANUP_FREE char *words = NULL;

    if (s->kill_state == POD_RUN_NOT_KILLED)
        pod_run_note_kill(s, now);
    if (s->kill_state == POD_RUN_UNKILLABLE || u->n == 0
        || now - s->killed_at_us < UNKILLABLE_MS * 1000)
        return;
    pod_run_set_kill_state(s, POD_RUN_UNKILLABLE);
    words = unkillable_format(u);
    log_warning("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name, words);
    pod_run_record(s, RECORD_WARNING, EVENT_UNKILLABLE, words);
    if (s->s.holding_changed != NULL)
        s->s.holding_changed(s, s->s.context);
}

void
pod_run_check_killed(struct pod_run *s)
{
    const struct unkillable u =
        unkillable_find(s->cgroup, s->live != NULL ? (pid_t)s->live->job_pid : 0);

    note_killed(s, &u);
    if (u.n > 0 && s->kill_state != POD_RUN_UNKILLABLE)
        timer_start(s->deadline_timer, AGAIN_MS);
}

/* ---- What is left, and how it ended ---- */

/* A restart of the agent means that the node was repaired, so an older failure
 * does not count against the node.
 */
static void
announce_hook_failure(const struct pod_run *s, const char *words)
{
    const struct agent_context *agent = s->s.agent;
    CLEANUP_FREE char *what =
        xasprintf("pod %s/%s: %s", s->pod->meta->namespace, s->pod->meta->name, words);

    log_warning("%s", what);
    if (agent->hook_failed != NULL && s->found != FOUND_ENDED)
        agent->hook_failed(what, agent->hook_context);
}

/* For the owner. */
static void
record_checkpoint(const struct pod_run *s)
{
    bool is_good;
    CLEANUP_FREE char *words = run_end_format_checkpoint(&s->end, &is_good);

    pod_run_record(s, is_good ? RECORD_NORMAL : RECORD_WARNING,
                   is_good ? EVENT_CHECKPOINTED : EVENT_CHECKPOINT_FAILED, words);
}

/* When the prolog failed, the job has not run, and is not at fault. */
static void
check_hooks(struct pod_run *s)
{
    const struct exit_record *e = s->end.record;

    if (e == NULL)
        return;
    if (e->failed_step != NULL && strcmp(e->failed_step, EXIT_RECORD_PROLOG) == 0) {
        if (s->end.reason == NULL)
            run_end_set(&s->end, REASON_PROLOG_FAILED, e->message);
        s->end.is_disruption = true;
        announce_hook_failure(s, e->message);
    }
    if (e->has_checkpoint)
        record_checkpoint(s);
    if (e->epilog_failure != NULL)
        announce_hook_failure(s, e->epilog_failure);
}

/* A failure under an earlier agent does not count against the node. */
static void
check_start(struct pod_run *s)
{
    const struct exit_record *e = s->end.record;

    if (e == NULL)
        return;
    if (e->failed_step == NULL) {
        pod_run_note_start(s, NULL);
        return;
    }
    if (!exit_record_is_nodes_fault(e))
        return;
    if (s->found == FOUND_ENDED) {
        run_end_set(&s->end, REASON_START_ERROR, e->message);
        s->end.is_disruption = true;
    } else
        fail_start(s, e->message);
}

/* The record of a shepherd of the previous release does not say whether the
 * order to end came before the job's own end; this agent has sent it or not.
 */
static void
check_order(struct pod_run *s)
{
    if (s->end.record != NULL && s->live != NULL && s->live->keeps_limit < LIVE_NOTES_ORDER)
        s->end.record->was_ended =
            s->is_preemption_warned
            || (s->deadline.terminated && s->deadline.delete_us != DEADLINE_NEVER);
}

static bool
ran_as_root(const struct pod *pod)
{
    const struct security_context *who = pod->spec.security_context;

    return who == NULL || who->run_as_user == NULL || *who->run_as_user == 0;
}

/* Whether a worker may still write to the cgroup of this finished pod. */
static bool
is_written_late(const struct pod_run *s)
{
    const struct allocation *a = pod_of(s->pod)->status.allocation;

    return placement_watch_was_restored(s->placement)
           || (s->s.shared_pool != NULL && (a == NULL || a->cpus == NULL));
}

/* Whether another pod may use the cgroup: the shepherd has waited for all
 * children, so no process is still entering it; nobody has killed the whole
 * cgroup; only this agent has set its limits, and neither a job of root nor a
 * hook of the site could have changed them; and no file on the disk names it
 * any more.
 */
static bool
may_reuse_cgroup(const struct pod_run *s, bool had_trouble)
{
    const struct agent_context *agent = s->s.agent;
    const struct exit_record *e = s->end.record;

    return !had_trouble && e != NULL && e->failed_step == NULL && e->signal == 0
           && !e->has_left_behind && s->found == FOUND_NOTHING && agent->prolog == NULL
           && agent->epilog == NULL && !ran_as_root(pod_of(s->pod)) && !is_written_late(s);
}

static void
let_go_of_cgroup(struct pod_run *s, bool may_reuse)
{
    struct cgpool *pool = s->s.agent->pool;

    if (s->cgroup == NULL)
        return;
    if (may_reuse ? cgpool_give_back(pool, s->cgroup) : cgpool_retire(pool, s->cgroup))
        pod_host_sweep_cgroups(s->s.agent);
    s->cgroup = NULL;
}

static void
on_cleaned(struct pod_run *s, struct pod_cleanup_result *result)
{
    if (result->exit_record != NULL && s->end.record == NULL) {
        s->end.record = result->exit_record;
        result->exit_record = NULL;
    }
    if (result->live != NULL && s->live != NULL) {
        live_record_free(s->live);
        s->live = result->live;
        result->live = NULL;
    }
    if (!result->is_clean) {
        note_killed(s, &result->left);
        timer_start(s->clean_timer, AGAIN_MS);
        return;
    }
    if (s->kill_state == POD_RUN_UNKILLABLE)
        log_info("pod '%s/%s': all of its processes are gone", s->pod->meta->namespace,
                 s->pod->meta->name);
    let_go_of_cgroup(s, may_reuse_cgroup(s, result->had_trouble));
    check_hooks(s);
    check_start(s);
    check_order(s);
    run_end_explain(&s->end, s->exceeded_at_us != 0);
    finish(s);
}

void
pod_run_clean_up(struct pod_run *s)
{
    const struct agent_context *agent = s->s.agent;

    /* The processes of the steps are in the pod's cgroup. */
    if (agent->end_steps != NULL && !agent->end_steps(s->uid, agent->steps_context)) {
        timer_start(s->clean_timer, STEPS_MS);
        return;
    }
    pod_cleanup_begin(&(struct pod_cleanup_settings){
        .run = s,
        .agent = agent,
        .tmp_dir = s->tmp_dir,
        .cgroup = s->cgroup,
        .was_killed = s->kill_state != POD_RUN_NOT_KILLED,
        .reads_records = s->end.record == NULL,
        .done = on_cleaned,
    });
}

static void
clean_up_again(void *run)
{
    pod_run_clean_up(run);
}

/* ---- The placement ---- */

static void
on_placement_changed(struct pod_run *s)
{
    if (s->wanted == REPORT_RUNNING)
        status_report_repeat(s);
}

void
pod_run_recheck(struct pod_run *s)
{
    placement_watch_recheck(s->placement, s->cgroup);
}

bool
pod_run_has_lost(const struct pod_run *s)
{
    return placement_watch_has_lost(s->placement);
}

/* ---- Updates from the API ---- */

static bool
is_unknown(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL && strcmp(phase, "Unknown") == 0;
}

/* The controller has given up the node and finished the pod, which may run
 * elsewhere now.
 */
static void
note_given_up(struct pod_run *s)
{
    if (s->api_state >= POD_RUN_GIVEN_UP)
        return;
    pod_run_set_api_state(s, POD_RUN_GIVEN_UP);
    s->wanted = s->reported = REPORT_END;
    log_warning("the controller gave up pod '%s/%s', ending its remaining "
                "processes",
                s->pod->meta->namespace, s->pod->meta->name);
}

void
pod_run_wait_for_cores(struct pod_run *s)
{
    pod_run_set_phase(s, POD_RUN_WAITING);
}

static bool
has_same_limit(const struct object *a, const struct object *b)
{
    const int64_t *x = pod_of(a)->spec.active_deadline_seconds;
    const int64_t *y = pod_of(b)->spec.active_deadline_seconds;

    return (x == NULL) == (y == NULL) && (x == NULL || *x == *y);
}

/* Compares whether an operator asked for a freeze, and whether the pod yields
 * its cores.
 */
static bool
has_same_wishes(const struct object *a, const struct object *b)
{
    return (string_map_find(&a->meta->annotations, ANNOTATION_FREEZE) != NULL)
               == (string_map_find(&b->meta->annotations, ANNOTATION_FREEZE) != NULL)
           && (pod_find_yield(pod_of(a)) != NULL) == (pod_find_yield(pod_of(b)) != NULL);
}

/* An older store was put back, which does not have the report. */
static bool
lacks_report(const struct pod_run *s)
{
    const char *phase = pod_of(s->pod)->status.phase;

    return s->reported == REPORT_RUNNING && s->call == NULL && phase != NULL
           && strcmp(phase, "Pending") == 0;
}

void
pod_run_update(struct pod_run *s, const struct object *pod)
{
    const bool has_limit_changed = !has_same_limit(s->pod, pod);
    const bool has_freeze_changed = !has_same_wishes(s->pod, pod);

    object_unref(s->pod);
    s->pod = object_ref(pod);
    if (has_limit_changed && s->pidfd >= 0)
        shepherd_watch_note_limit(s);
    if (has_freeze_changed)
        shepherd_watch_note_freeze(s);
    shepherd_watch_send_signals(s);
    note_barrier(s);
    if (pod_is_finished(pod_of(pod)) && s->phase != POD_RUN_DONE)
        note_given_up(s);
    else if (s->phase == POD_RUN_RUNNING && (is_unknown(pod) || lacks_report(s)))
        status_report_repeat(s);
    if (pod->meta->deleted_at_us == 0 && s->api_state != POD_RUN_GIVEN_UP)
        return;
    if (s->phase == POD_RUN_WAITING) {
        finish_silently(s);
        return;
    }
    shepherd_watch_note_deletion(s);
    if (s->pidfd >= 0)
        shepherd_watch_enforce(s);
    else if (s->phase == POD_RUN_DONE && !timer_is_running(s->report_timer))
        status_report_send(s);
}

void
pod_run_note_forgotten(struct pod_run *s)
{
    pod_run_set_api_state(s, POD_RUN_FORGOTTEN);
    if (s->phase == POD_RUN_WAITING) {
        finish_silently(s);
        return;
    }
    shepherd_watch_note_deletion(s);
    if (s->pidfd >= 0)
        shepherd_watch_enforce(s);
    pod_run_check_over(s);
}

struct pod_run *
pod_run_new(const struct pod_run_settings *settings, const struct object *pod)
{
    struct pod_run *s = xnew(struct pod_run);
    struct loop *loop = settings->agent->loop;

    s->s = *settings;
    s->pod = object_ref(pod);
    s->uid = xstrdup(pod->meta->uid);
    s->pidfd = s->channel = -1;
    s->poll_timer = timer_new(loop, shepherd_watch_poll, s);
    s->deadline_timer = timer_new(loop, shepherd_watch_enforce, s);
    s->freeze_timer = timer_new(loop, shepherd_watch_check_freeze, s);
    s->clean_timer = timer_new(loop, clean_up_again, s);
    s->report_timer = timer_new(loop, status_report_on_timer, s);
    s->hold_timer = timer_new(loop, end_hold, s);
    s->placement = placement_watch_new(&(struct placement_watch_settings){
        .run = s,
        .agent = settings->agent,
        .shared_pool = settings->shared_pool,
        .given = settings->given,
        .given_context = settings->context,
        .changed = on_placement_changed,
    });
    s->deadline.limit_us = DEADLINE_NEVER;
    s->deadline.delete_us = DEADLINE_NEVER;
    s->deadline.delete_grace_us = DEADLINE_NEVER;
    s->deadline.started_us = clock_monotonic_us(settings->agent->clock);
    return s;
}

const struct object *
pod_run_pod(const struct pod_run *s)
{
    return s->pod;
}

const char *
pod_run_uid(const struct pod_run *s)
{
    return s->uid;
}

bool
pod_run_holds_cores(const struct pod_run *s)
{
    return s->phase != POD_RUN_DONE;
}

bool
pod_run_has_yielded(const struct pod_run *s)
{
    return s->phase == POD_RUN_RUNNING && s->live != NULL && s->live->frozen_at_us != 0
           && pod_find_yield(pod_of(s->pod)) != NULL;
}

bool
pod_run_is_unkillable(const struct pod_run *s)
{
    return s->kill_state == POD_RUN_UNKILLABLE;
}

bool
pod_run_is_waiting(const struct pod_run *s)
{
    return s->phase == POD_RUN_WAITING;
}

bool
pod_run_format_cgroup(const struct pod_run *s, struct strbuf *out)
{
    if (s->cgroup == NULL)
        return false;
    cgroup_format(s->cgroup, out);
    return true;
}

void
pod_run_set_orphan(struct pod_run *s, bool is_orphan)
{
    pod_run_set_api_state(s, is_orphan ? POD_RUN_ORPHAN : POD_RUN_KNOWN);
}

bool
pod_run_is_orphan(const struct pod_run *s)
{
    return s->api_state == POD_RUN_ORPHAN;
}

bool
pod_run_is_forgotten(const struct pod_run *s)
{
    return s->api_state == POD_RUN_FORGOTTEN;
}

bool
pod_run_is_abandoned(const struct pod_run *s)
{
    return s->api_state >= POD_RUN_GIVEN_UP;
}

bool
pod_run_is_unwanted(const struct pod_run *s)
{
    return s->pod->meta->deleted_at_us != 0 || pod_run_is_abandoned(s);
}

bool
pod_run_is_retained(const struct pod_run *s)
{
    return pod_run_holds_cores(s) && s->api_state != POD_RUN_KNOWN
           && pod_of(s->pod)->status.allocation != NULL;
}

bool
pod_run_has_ended(const struct pod_run *s)
{
    return s->phase > POD_RUN_RUNNING;
}

bool
pod_run_is_starting(const struct pod_run *s)
{
    return s->phase < POD_RUN_RUNNING;
}

void
pod_run_poll(struct pod_run *s)
{
    if (s->phase != POD_RUN_LAUNCHED)
        return;
    timer_stop(s->poll_timer);
    shepherd_watch_poll(s);
}

bool
pod_run_get_running(struct pod_run *s, struct running_pod *ret_running)
{
    if (s->phase != POD_RUN_RUNNING || s->live == NULL)
        return false;
    *ret_running = (struct running_pod){
        .pod = s->pod,
        .cgroup = s->cgroup,
        .shepherd = (pid_t)s->live->shepherd_pid,
        .started_at_us = s->live->started_at_us,
        .gpu_use = &s->gpu_use,
    };
    return true;
}
