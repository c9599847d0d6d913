/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run_state.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
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

#define HOLD_MS 1000

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
    timer_free(s->observe_timer);
    timer_free(s->hold_timer);
    free(s->seen);
    free(s->misplaced);
    free(s->lost);
    cgroup_free(s->cgroup);
    free(s->tmp_dir);
    live_record_free(s->live);
    exit_record_free(s->exit_record);
    free(s->end_reason);
    free(s->end_message);
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
    timer_stop(s->observe_timer);
    timer_stop(s->hold_timer);
    if (s->call != NULL) { /* an agent that ends handles no answer */
        client_cancel(s->call);
        s->busy--;
    }
    if (s->busy == 0)
        destroy(s);
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

void
pod_run_set_end(struct pod_run *s, const char *reason, const char *message)
{
    free(s->end_reason);
    free(s->end_message);
    s->end_reason = reason != NULL ? xstrdup(reason) : NULL;
    s->end_message = message != NULL ? xstrdup(message) : NULL;
}

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
    pod_cleanup_begin(s);
    return true;
}

/* For a pod that was deleted before it ran, or was over before it arrived: its
 * end is not reported.
 */
void
pod_run_finish_silently(struct pod_run *s)
{
    if (clean_first(s, true))
        return;
    pod_run_set_phase(s, POD_RUN_DONE);
    s->wanted = s->reported = REPORT_END;
    status_report_send(s);
}

void
pod_run_finish(struct pod_run *s)
{
    if (s->api_state == POD_RUN_GIVEN_UP) {
        pod_run_finish_silently(s);
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
    pod_run_set_end(s, reason, message);
    /* The scheduler's wrong placement is not the job's fault. */
    s->is_disruption = strcmp(reason, REASON_NODE_BROKEN) == 0
                       || strcmp(reason, REASON_ALLOCATION_OVERLAP) == 0
                       || strcmp(reason, REASON_ALLOCATION_NOT_HERE) == 0;
    log_warning("pod '%s/%s' is refused: %s", s->pod->meta->namespace, s->pod->meta->name, message);
    pod_run_record(s, RECORD_WARNING, reason, message);
    pod_run_finish(s);
}

void
pod_run_dismiss(struct pod_run *s)
{
    pod_run_finish_silently(s);
}

/* ---- The start ---- */

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
        pod_run_finish_silently(s);
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
        pod_start_begin(s);
}

/* If the node was repaired meanwhile, the pod starts after all. */
static void
end_hold(void *context)
{
    struct pod_run *s = context;

    if (s->phase != POD_RUN_HELD)
        return;
    if (pod_run_is_unwanted(s))
        pod_run_finish_silently(s);
    else if (is_node_broken(s))
        pod_run_refuse(s, REASON_NODE_BROKEN, s->s.agent->broken(s->s.agent->start_context));
    else
        pod_start_begin(s);
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
        pod_run_set_end(s, REASON_NODE_REBOOTED, "the node was restarted while the pod ran on it");
    else if (boot == POD_BOOT_UNKNOWN)
        pod_run_set_end(s, REASON_POD_LOST,
                        "nothing is left of it on its node, which was not "
                        "restarted meanwhile: its files were removed, or the "
                        "controller was restored to a state before its end");
    s->is_disruption = true;
    pod_run_set_phase(s, POD_RUN_ENDED);
    pod_cleanup_begin(s);
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
    s->exit_record = pod_host_read_ending(agent, s->uid);
    pod_host_read_gpu_use(agent, s->uid, &s->gpu_use);
    s->cgroup = pod_host_find_cgroup(agent, s->uid);
    if (s->exit_record != NULL) {
        s->found = FOUND_ENDED;
        pod_run_set_phase(s, POD_RUN_ENDED);
        pod_cleanup_begin(s);
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
    pod_start_note_update(s);
    if (pod_is_finished(pod_of(pod)) && s->phase != POD_RUN_DONE)
        note_given_up(s);
    else if (s->phase == POD_RUN_RUNNING && (is_unknown(pod) || lacks_report(s)))
        status_report_repeat(s);
    if (pod->meta->deleted_at_us == 0 && s->api_state != POD_RUN_GIVEN_UP)
        return;
    if (s->phase == POD_RUN_WAITING) {
        pod_run_finish_silently(s);
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
        pod_run_finish_silently(s);
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
    s->clean_timer = timer_new(loop, pod_cleanup_on_timer, s);
    s->report_timer = timer_new(loop, status_report_on_timer, s);
    s->observe_timer = timer_new(loop, placement_watch_on_timer, s);
    s->hold_timer = timer_new(loop, end_hold, s);
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
