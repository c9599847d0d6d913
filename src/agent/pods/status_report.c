/* SPDX-License-Identifier: Apache-2.0 */
/* status_report.c - reports a run to the API, and retries until it is accepted
 *
 * Only the last thing is worth a report: one that was not sent when a later one is wanted is
 * dropped, so that a pod which ended at once costs one write and not two. An end is never
 * given up, for nobody else knows it; a pod that the API does not have is not an answer
 * while its store may be another one, or an older one that was put back.
 */
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/pod_ends.h"
#include "agent/pods/placement_watch.h"
#include "agent/pods/pod_run_state.h"
#include "agent/pods/status_patch.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define REPORT_FIRST_MS 500
#define REPORT_LAST_MS  15000

static void
retry_later(struct pod_run *s)
{
    s->report_retry_ms = backoff_next(s->report_retry_ms, REPORT_FIRST_MS, REPORT_LAST_MS);
    timer_start(s->report_timer, s->report_retry_ms);
}

static void
on_confirmed(const struct client_reply *reply, void *context)
{
    struct pod_run *s = context;

    s->call = NULL;
    if (!pod_run_end_work(s))
        return;
    if (reply->code == 200 || reply->code == 404 || reply->code == 409)
        pod_run_set_api_state(s, POD_RUN_FORGOTTEN);
    else
        retry_later(s);
    pod_run_check_over(s);
}

/* The process has ended and was cleaned up: lets the API remove the pod. */
static void
confirm_deletion(struct pod_run *s)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_kind,
        .namespace = s->pod->meta->namespace,
        .name = s->pod->meta->name,
        .body = body,
    };

    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_int(arena, body, "gracePeriodSeconds", 0);
    json_set_string(arena, json_make_object(arena, body, "preconditions"), "uid", s->uid);
    s->busy++;
    s->call = client_call(s->s.agent->client, arena, &request, on_confirmed, s);
}

static bool
may_be_forgotten(const struct pod_run *s)
{
    return s->s.agent->ask_if_forgotten != NULL && s->pod->meta->deleted_at_us == 0;
}

static void
on_reported(const struct client_reply *reply, void *context)
{
    struct pod_run *s = context;
    struct error err = {0};

    s->call = NULL;
    if (!pod_run_end_work(s))
        return;
    if (reply->code == 200) {
        s->reported = s->report_again ? REPORT_NOTHING : s->reporting;
        s->report_again = false;
        s->report_retry_ms = 0;
    } else if (reply->code == 404 || reply->code == 409) {
        /* Whether a running pod is gone is left to the watch. The end of a pod
         * is kept until the watch shows that the pod is gone, because the API
         * of another cluster knows none of our pods.
         */
        if (reply->code == 404 && s->pidfd >= 0)
            s->reported = s->reporting;
        else if (reply->code == 404 && (s->api_state == POD_RUN_ORPHAN || !may_be_forgotten(s)))
            pod_run_set_api_state(s, POD_RUN_FORGOTTEN);
        else
            retry_later(s);
    } else {
        client_reply_error(reply, &err);
        if (reply->code >= 400 && reply->code < 500)
            log_warning("pod '%s/%s': the controller refuses its status: %s",
                        s->pod->meta->namespace, s->pod->meta->name, err.text);
        retry_later(s);
    }
    if (!timer_is_running(s->report_timer))
        status_report_send(s);
}

/* Of the allocation: what is seen while it runs, or why it was refused. */
static const char *
find_fault(const struct pod_run *s, const char **ret_words)
{
    const char *reason = placement_watch_find_fault(s->placement, ret_words);

    if (reason != NULL || s->end.reason == NULL
        || (strcmp(s->end.reason, REASON_ALLOCATION_OVERLAP) != 0
            && strcmp(s->end.reason, REASON_ALLOCATION_NOT_HERE) != 0))
        return reason;
    *ret_words = s->end.message;
    return s->end.reason;
}

static struct json *
make_patch(struct pod_run *s, struct arena *arena)
{
    const struct agent_context *agent = s->s.agent;
    const struct live_record *live = s->live;
    struct allocation_fault broken = {0};
    int64_t seen_at_us;
    const struct observation *seen = placement_watch_seen(s->placement, &seen_at_us);

    broken.reason = find_fault(s, &broken.message);
    if (s->end_report != NULL && s->wanted == REPORT_END)
        return json_parse(arena, arena_strdup(arena, s->end_report), strlen(s->end_report), NULL,
                          NULL);
    if (s->wanted == REPORT_PREPARED)
        return status_patch_make_prepared(arena, s->pod, clock_real_us(agent->clock));
    if (s->wanted == REPORT_WAITING)
        return status_patch_make_waiting(arena, s->pod, s->live->waits_for);
    if (s->wanted == REPORT_RUNNING) {
        s->told_frozen_at_us = s->live->frozen_at_us;
        s->told_frozen_us = s->live->frozen_us;
        s->told_ending |= s->exceeded_at_us != 0;
        s->told_yielding = pod_find_yield(pod_of(s->pod)) != NULL;
        return status_patch_make_running(
            arena, s->pod,
            &(struct status_patch_running){
                .host_address = agent->address,
                .boot_id = agent->boot_id,
                .started_at_us = s->live->started_at_us,
                .cpus = s->live->cpus_allowed,
                .memory_nodes = s->live->memory_allowed,
                .seen = seen,
                .seen_at_us = seen_at_us,
                .broken = broken,
                .frozen = {.at_us = s->live->frozen_at_us,
                           .before_us = s->live->frozen_us,
                           .by = shepherd_watch_freezer(s),
                           .yields_to = pod_find_yield(pod_of(s->pod)),
                           .is_refused = s->is_freeze_refused},
                .ending = {.reason = s->exceeded_at_us != 0 ? REASON_DEADLINE_EXCEEDED : NULL,
                           .since_us = s->exceeded_at_us},
                .now_us = clock_real_us(agent->clock),
            });
    }
    return status_patch_make_end(arena, s->pod,
                                 &(struct status_patch_end){
                                     .exit_record = s->end.record,
                                     .reason = s->end.reason,
                                     .message = s->end.message,
                                     .is_disruption = s->end.is_disruption,
                                     .seen = seen,
                                     .seen_at_us = seen_at_us,
                                     .broken = broken,
                                     .frozen = {.at_us = live != NULL ? live->frozen_at_us : 0,
                                                .before_us = live != NULL ? live->frozen_us : 0},
                                     .gpu_use = &s->gpu_use,
                                     .was_ending = s->told_ending,
                                     .now_us = clock_real_us(agent->clock),
                                     .host_address = agent->address,
                                     .boot_id = agent->boot_id,
                                 });
}

/* Records the end, for a controller whose store will have lost it. A pod that never
 * began, and whose end is not reported, may run.
 */
void
status_report_note_end(struct pod_run *s)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;

    if (s->is_end_noted || s->wanted != REPORT_END || s->s.ends == NULL
        || (s->end.record == NULL && s->end.reason == NULL))
        return;
    s->is_end_noted = true;
    arena = arena_new(0);
    pod_ends_note(s->s.ends, arena, s->pod, make_patch(s, arena));
}

void
pod_run_report_now(struct pod_run *s)
{
    if (!timer_is_running(s->report_timer))
        return;
    s->report_retry_ms = 0;
    timer_start(s->report_timer, 0);
}

/* Sends the last report again, because the API has lost or changed it. */
void
status_report_repeat(struct pod_run *s)
{
    if (s->call != NULL) {
        s->report_again = true;
        return;
    }
    s->reported = REPORT_NOTHING;
    status_report_send(s);
}

/* Cancels a report that was not sent yet when a newer one is wanted, so that a
 * pod that ended while others were reported needs one change instead of two.
 */
static void
drop_outdated(struct pod_run *s)
{
    if (s->call == NULL || s->reporting <= s->reported || s->reporting >= s->wanted
        || !client_call_waits(s->call))
        return;
    client_cancel(s->call);
    s->call = NULL;
    s->busy--;
}

/* Sends the wanted report if it was not sent yet; then, for a pod that is being
 * deleted, confirms the deletion.
 */
void
status_report_send(struct pod_run *s)
{
    struct arena *arena;
    struct client_request request = {
        .verb = CLIENT_STRATEGIC_PATCH,
        .kind = &pod_kind,
        .namespace = s->pod->meta->namespace,
        .name = s->pod->meta->name,
        .subresource = "status",
        .raw = true, /* the watch delivers the result */
        .is_report = true,
    };

    drop_outdated(s);
    if (s->call != NULL)
        return;
    if (!pod_run_is_abandoned(s) && s->reported < s->wanted) {
        arena = arena_new(0);
        status_report_note_end(s);
        request.body = make_patch(s, arena);
        s->reporting = s->wanted;
        s->busy++;
        s->call = client_call(s->s.agent->client, arena, &request, on_reported, s);
        return;
    }
    if (s->api_state != POD_RUN_FORGOTTEN && s->phase == POD_RUN_DONE
        && s->pod->meta->deleted_at_us != 0) {
        confirm_deletion(s);
        return;
    }
    pod_run_check_over(s);
}

void
pod_run_repeat_end(struct pod_run *s, const struct json *report, int64_t after_ms)
{
    struct strbuf text = STRBUF_INIT;

    json_print(report, &text);
    s->end_report = strbuf_take(&text);
    s->is_end_noted = true;
    pod_run_set_phase(s, POD_RUN_DONE);
    s->wanted = REPORT_END;
    timer_start(s->report_timer, after_ms);
}

void
status_report_on_timer(void *context)
{
    status_report_send(context);
}

void
status_report_request(struct pod_run *s, enum report_kind what)
{
    if (what > s->wanted)
        s->wanted = what;
    timer_stop(s->report_timer);
    status_report_send(s);
}
