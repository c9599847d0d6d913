/* SPDX-License-Identifier: Apache-2.0 */
/* step_reporter.c - one request at a time, and not often
 *
 * Each report is a write of the controller's store. A node with many steps must not cost
 * it more than one with few, so changes are gathered, and only ends that somebody
 * waits for come sooner. A controller that does not answer is asked again after the same
 * interval: what was sent and not acknowledged is sent again.
 */
#include "agent/steps/step_reporter.h"

#include <stdint.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/steps/step_records.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define INTERVAL_MS 10000
#define GATHER_MS   1000 /* for steps that start together */
#define END_MS      300  /* for jobs that end together */
#define REFUSED_MS  60000

struct step_reporter {
    const struct agent_context *agent;
    struct step_records *records;
    step_reporter_observe_fn *observe;
    void *context;
    struct timer *timer;
    struct client_call *call; /* NULL: none is under way */
    int64_t sent_ms, due_ms;  /* monotonic; 0: never, not at all */
    bool has_end;             /* to be sent soon */
    bool has_running;         /* steps, at the last report */
};

static int64_t
now_ms(const struct step_reporter *r)
{
    return clock_monotonic_us(r->agent->clock) / 1000;
}

static void
start_timer(struct step_reporter *r, int64_t in_ms)
{
    const int64_t due_ms = now_ms(r) + in_ms;

    if (r->call != NULL || (timer_is_running(r->timer) && r->due_ms <= due_ms))
        return;
    r->due_ms = due_ms;
    timer_start(r->timer, in_ms);
}

void
step_reporter_note(struct step_reporter *r, bool is_end)
{
    const int64_t since_ms = r->sent_ms > 0 ? now_ms(r) - r->sent_ms : INTERVAL_MS;
    const int64_t rest_ms = since_ms < INTERVAL_MS ? INTERVAL_MS - since_ms : 0;

    r->has_end |= is_end;
    start_timer(r, r->has_end ? END_MS : rest_ms > GATHER_MS ? rest_ms : GATHER_MS);
}

/* A pod's records that the controller does not want are not kept for it. */
static void
take_answers(struct step_reporter *r, const struct client_reply *reply)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *pods =
        json_get(json_parse(arena, reply->text, reply->length, NULL, NULL), "pods");

    for (uint32_t i = 0; i < json_count(pods); i++) {
        const struct json *pod = json_at(pods, i);
        const char *uid = json_get_text(pod, "podUid");
        const char *message = json_get_text(pod, "message");
        const int64_t code = json_get_int(pod, "code", 0);

        if (code != 200 && code != 503)
            log_warning("the controller does not keep the steps of pod '%s': %s",
                        uid != NULL ? uid : "", message != NULL ? message : "");
        if (uid != NULL && code != 503)
            step_records_acknowledge(r->records, uid);
    }
}

static void
on_answer(const struct client_reply *reply, void *context)
{
    struct step_reporter *r = context;
    struct error err = {0};

    r->call = NULL;
    if (reply->code == 200)
        take_answers(r, reply);
    else {
        client_reply_error(reply, &err);
        log_debug("the controller did not accept the records of steps: %s", err.text);
    }
    if (reply->code == 200 && r->has_end)
        step_reporter_note(r, false);
    else if (step_records_have_news(r->records) || r->has_running)
        start_timer(r, reply->code == 404 || reply->code == 405 ? REFUSED_MS : INTERVAL_MS);
}

static void
send(void *context)
{
    struct step_reporter *r = context;
    struct step_report report = {0};
    struct arena *arena;
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .name = r->agent->node,
        .subresource = "steps",
        .raw = true,
    };

    r->has_running = r->observe(r->context);
    arena = arena_new(0);
    step_records_collect(r->records, arena, &report);
    if (report.pods.count == 0) {
        arena_free(arena);
        if (r->has_running)
            start_timer(r, INTERVAL_MS);
        return;
    }
    r->has_end = false;
    r->sent_ms = now_ms(r);
    request.body = record_encode(&step_report_record, arena, &report);
    r->call = client_call(r->agent->client, arena, &request, on_answer, r);
}

struct step_reporter *
step_reporter_new(const struct agent_context *agent, struct step_records *records,
                  step_reporter_observe_fn *observe, void *context)
{
    struct step_reporter *r = xnew(struct step_reporter);

    r->agent = agent;
    r->records = records;
    r->observe = observe;
    r->context = context;
    r->timer = timer_new(agent->loop, send, r);
    return r;
}

void
step_reporter_free(struct step_reporter *r)
{
    if (r == NULL)
        return;
    if (r->call != NULL)
        client_cancel(r->call);
    timer_free(r->timer);
    free(r);
}
