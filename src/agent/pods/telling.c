/* SPDX-License-Identifier: Apache-2.0 */
/* telling.c - what the API is told of a stay, for as long as that takes */
#include "agent/pods/ground.h"
#include "agent/pods/report.h"
#include "agent/pods/stay_state.h"
#include "agent/shepherd/ending.h"
#include "agent/shepherd/live.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define TELL_FIRST_MS 500
#define TELL_LAST_MS  15000

static void
tell_later(struct stay *s)
{
    s->tell_ms = s->tell_ms == 0 ? TELL_FIRST_MS : s->tell_ms * 2;
    if (s->tell_ms > TELL_LAST_MS)
        s->tell_ms = TELL_LAST_MS;
    timer_start(s->tell_timer, s->tell_ms);
}

static void
on_confirmed(const struct client_reply *reply, void *context)
{
    struct stay *s = context;

    s->call = NULL;
    if (!stay_come_back(s))
        return;
    if (reply->code == 200 || reply->code == 404 || reply->code == 409)
        s->vanished = true;
    else
        tell_later(s);
    stay_check_over(s);
}

/* The process is gone and cleaned up after: the API may forget the pod. */
static void
confirm_deletion(struct stay *s)
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
    json_set_string(arena,
                    json_make_object(arena, body, "preconditions"),
                    "uid",
                    s->uid);
    s->busy++;
    s->call =
        client_call(s->s.ground->client, arena, &request, on_confirmed, s);
}

static bool
may_be_doubted(const struct stay *s)
{
    return s->s.ground->doubt != NULL && s->pod->meta->deleted_at_us == 0;
}

static void
on_told(const struct client_reply *reply, void *context)
{
    struct stay *s = context;
    struct error err = {0};

    s->call = NULL;
    if (!stay_come_back(s))
        return;
    if (reply->code == 200) {
        s->told = s->doubted ? TOLD_NOTHING : s->telling;
        s->doubted = false;
        s->tell_ms = 0;
    } else if (reply->code == 404 || reply->code == 409) {
        /* Of one that runs the watch says whether it is gone. How one ended is
         * kept until it does, too: another cluster's API knows none of ours.
         */
        if (reply->code == 404 && s->pidfd >= 0)
            s->told = s->telling;
        else if (reply->code == 404 && (s->is_orphan || !may_be_doubted(s)))
            s->vanished = true;
        else
            tell_later(s);
    } else {
        client_reply_error(reply, &err);
        if (reply->code >= 400 && reply->code < 500)
            log_warning("pod '%s/%s': the controller refuses its status: %s",
                        s->pod->meta->namespace,
                        s->pod->meta->name,
                        err.text);
        tell_later(s);
    }
    if (!timer_is_running(s->tell_timer))
        telling_go(s);
}

static struct json *
compose_report(struct stay *s, struct arena *arena)
{
    const struct ground *g = s->s.ground;
    struct report_broken broken = {0};

    broken.reason = observing_broken(s, &broken.message);
    if (s->wanted == TOLD_WAITING)
        return report_waiting(arena, s->pod, s->live->waits_for);
    if (s->wanted == TOLD_RUNNING)
        return report_running(arena,
                              s->pod,
                              &(struct report_running){
                                  .host_address = g->address,
                                  .boot_id = g->boot_id,
                                  .started_at_us = s->live->started_at_us,
                                  .cpus = s->live->cpus_allowed,
                                  .memory_nodes = s->live->memory_allowed,
                                  .seen = s->seen,
                                  .seen_at_us = s->seen_at_us,
                                  .broken = broken,
                                  .now_us = clock_real_us(g->clock),
                              });
    return report_end(arena,
                      s->pod,
                      &(struct report_end){
                          .ending = s->ending,
                          .reason = s->end_reason,
                          .message = s->end_message,
                          .is_disruption = s->is_disruption,
                          .seen = s->seen,
                          .seen_at_us = s->seen_at_us,
                          .broken = broken,
                          .now_us = clock_real_us(g->clock),
                          .host_address = g->address,
                          .boot_id = g->boot_id,
                      });
}

void
stay_tell_now(struct stay *s)
{
    if (!timer_is_running(s->tell_timer))
        return;
    s->tell_ms = 0;
    timer_start(s->tell_timer, 0);
}

/* What it was told is not so any more. */
void
telling_again(struct stay *s)
{
    if (s->call != NULL) {
        s->doubted = true;
        return;
    }
    s->told = TOLD_NOTHING;
    telling_go(s);
}

/* Sends what is wanted and not told yet; then, of a pod being deleted, that
 * it is gone.
 */
void
telling_go(struct stay *s)
{
    struct arena *arena;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_kind,
        .namespace = s->pod->meta->namespace,
        .name = s->pod->meta->name,
        .subresource = "status",
        .raw = true, /* the watch tells what became of it */
    };

    if (s->call != NULL)
        return;
    if (!s->vanished && s->told < s->wanted) {
        arena = arena_new(0);
        request.body = compose_report(s, arena);
        s->telling = s->wanted;
        s->busy++;
        s->call = client_call(s->s.ground->client, arena, &request, on_told, s);
        return;
    }
    if (!s->vanished && s->phase == STAY_DONE
        && s->pod->meta->deleted_at_us != 0) {
        confirm_deletion(s);
        return;
    }
    stay_check_over(s);
}

void
telling_now(void *context)
{
    telling_go(context);
}

void
telling_want(struct stay *s, enum told what)
{
    if (what > s->wanted)
        s->wanted = what;
    timer_stop(s->tell_timer);
    telling_go(s);
}
