/* SPDX-License-Identifier: Apache-2.0 */
/* How a recorder writes to the API. */
#include <stdint.h>
#include <stdlib.h>

#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/report/recorder_state.h"
#include "lib/api/cluster/event.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/item_map.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/client/client.h"
#include "lib/client/event_call.h"
#include "lib/json/json.h"

#define MAX_IN_FLIGHT 128

/* ---- The call ---- */

/* The client that makes the call, and the function that gets its answer. */
struct status_call_target {
    struct client *client;
    client_done_fn *done;
    void *context;
    int64_t now_us; /* on the real clock */
};

/* PodScheduled=False if there is a message, the cause for people if it is not
 * NULL, and likewise the nomination ("" clears it).
 */
struct status_call_words {
    const char *reason;
    const char *message;
    const char *nominated;
    const struct pod_cause *cause;
};

static void
set_time(struct arena *arena, struct json *object, const char *name, int64_t real_us)
{
    char text[TIME_TEXT_SIZE];

    time_format(real_us, false, text);
    json_set_string(arena, object, name, text);
}

static void
set_condition(struct arena *arena, struct json *status, const char *reason, const char *message,
              int64_t now_us)
{
    struct json *list = json_array(arena), *c = json_object(arena);

    json_set_string(arena, c, "type", "PodScheduled");
    json_set_string(arena, c, "status", "False");
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
    json_set(arena, c, "lastProbeTime", json_null(arena));
    set_time(arena, c, "lastTransitionTime", now_us);
    json_append(arena, list, c);
    json_set(arena, status, "conditions", list);
}

/* A time that is no longer known is removed. */
static void
set_cause(struct arena *arena, struct json *status, const struct pod_cause *c)
{
    struct json *cause = json_make_object(arena, status, "cause");

    json_set_string(arena, cause, "code", c->code);
    json_set_string(arena, cause, "message", c->message);
    if (c->from_us > 0)
        set_time(arena, cause, "from", c->from_us);
    else
        json_set(arena, cause, "from", json_null(arena));
    json_set(arena, cause, "assumed", c->is_assumed ? json_bool(arena, true) : json_null(arena));
    json_set(arena, cause, "node",
             c->node != NULL ? json_string(arena, c->node) : json_null(arena));
}

static struct client_call *
patch_status(const struct status_call_target *to, const struct pod_view *pod,
             const struct status_call_words *words)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    if (pod->uid != NULL)
        json_set_string(arena, json_make_object(arena, body, "metadata"), "uid", pod->uid);
    if (words->message != NULL)
        set_condition(arena, status, words->reason, words->message, to->now_us);
    if (words->cause != NULL)
        set_cause(arena, status, words->cause);
    if (words->nominated != NULL)
        json_set(arena, status, "nominatedNodeName",
                 words->nominated[0] != '\0' ? json_string(arena, words->nominated)
                                             : json_null(arena));
    return client_call(to->client, arena,
                       &(struct client_request){
                           .verb = CLIENT_STRATEGIC_PATCH,
                           .kind = &pod_kind,
                           .namespace = pod->namespace,
                           .name = pod->name,
                           .subresource = "status",
                           .body = body,
                       },
                       to->done, to->context);
}

/* ---- Writes ---- */

/* A write that waits or is under way. It refers to a failing pod by its key, because
 * the record may be freed; or it owns a single event.
 */
struct recorder_write {
    struct list link;
    struct recorder *recorder;
    struct dispatched_call *call;
    char *failing_pod_key; /* or NULL */
    struct single_event *single_event;
    bool is_event;
};

static void
write_free(struct recorder_write *w)
{
    list_remove(&w->link);
    w->recorder->in_flight--;
    if (w->single_event != NULL)
        recorder_free_single_event(w->single_event);
    free(w->failing_pod_key);
    free(w);
}

void
recorder_cancel_writes(struct recorder *r)
{
    list_foreach_safe(link, &r->writes)
    {
        struct recorder_write *w = container_of(link, struct recorder_write, link);

        dispatch_cancel(w->call);
        write_free(w);
    }
}

/* If the pod or event no longer exists, there is nothing to try again. */
static void
write_failed(struct recorder_write *w, int code)
{
    struct failing_pod *s = item_map_find(w->recorder->failing_pods, w->failing_pod_key);

    if (s == NULL)
        return;
    if (w->is_event && code == 404)
        s->event = 0;
    if (code >= 400 && code < 500 && code != 429)
        return;
    if (w->is_event)
        s->has_new_event = true;
    else {
        s->has_new_condition = s->message != NULL;
        s->has_new_cause = s->cause.code != NULL;
    }
    recorder_mark_dirty(w->recorder, s);
}

static void
write_done(const struct client_reply *reply, void *context)
{
    struct recorder_write *w = context;

    if (w->failing_pod_key != NULL && (reply->code < 200 || reply->code > 299))
        write_failed(w, reply->code);
    write_free(w);
}

static void
write_dropped(void *context)
{
    write_free(context);
}

static bool
has_new_status(const struct failing_pod *s)
{
    return s->has_new_condition || s->has_new_cause || s->nominated != NULL;
}

/* The content of a write is made when the call starts, not when it was queued.
 */

static struct client_call *
start_status(struct client *client, client_done_fn *done, void *done_context, void *context)
{
    struct recorder_write *w = context;
    const struct status_call_target to = {
        client,
        done,
        done_context,
        clock_real_us(w->recorder->settings.clock),
    };
    struct failing_pod *s = item_map_find(w->recorder->failing_pods, w->failing_pod_key);
    struct client_call *call;

    if (s == NULL || !has_new_status(s))
        return NULL;
    call = patch_status(&to, s->pod,
                        &(struct status_call_words){
                            .reason = s->reason,
                            .message = s->has_new_condition ? s->message : NULL,
                            .nominated = s->nominated,
                            .cause = s->has_new_cause ? &s->cause : NULL,
                        });
    s->has_new_condition = s->has_new_cause = false;
    free(s->nominated);
    s->nominated = NULL;
    return call;
}

static struct event
event_about(const struct recorder *r, const struct pod_view *pod)
{
    return (struct event){
        .involved =
            {
                .api_version = pod_kind.api_version,
                .kind = pod_kind.name,
                .namespace = pod->namespace,
                .name = pod->name,
                .uid = pod->uid,
                .resource_version = pod->pod->meta.resource_version,
            },
        .component = r->settings.component,
        .last_at_us = clock_real_us(r->settings.clock),
    };
}

static struct client_call *
start_failure(struct recorder *r, const struct event_call_target *to, struct failing_pod *s)
{
    CLEANUP_FREE char *name = NULL;
    struct event event = event_about(r, s->pod);
    bool is_new = s->event == 0;

    if (is_new)
        s->event = event_call_make_number(&r->random);
    name = event_call_format_name(s->pod->name, s->event);
    s->has_new_event = false;
    event.meta.name = name;
    event.type = "Warning";
    event.reason = EVENT_FAILED_SCHEDULING;
    event.message = s->message;
    event.count = s->count;
    event.first_at_us = s->first_us;
    return is_new ? event_call_create(to, &event) : event_call_update(to, &event);
}

static struct client_call *
start_single_event(struct recorder *r, const struct event_call_target *to,
                   const struct single_event *m)
{
    CLEANUP_FREE char *name = event_call_make_name(&r->random, m->pod->name);
    struct event event = event_about(r, m->pod);

    event.meta.name = name;
    event.type = m->type;
    event.reason = m->reason;
    event.message = m->message;
    event.count = 1;
    event.first_at_us = event.last_at_us;
    return event_call_create(to, &event);
}

static struct client_call *
start_event(struct client *client, client_done_fn *done, void *done_context, void *context)
{
    struct recorder_write *w = context;
    struct recorder *r = w->recorder;
    const struct event_call_target to = {client, done, done_context};
    struct failing_pod *s;

    if (w->single_event != NULL)
        return start_single_event(r, &to, w->single_event);
    s = item_map_find(r->failing_pods, w->failing_pod_key);
    return s != NULL && s->has_new_event ? start_failure(r, &to, s) : NULL;
}

const struct dispatch_kind recorder_status_kind = {
    .name = "pod_status_patch",
    .relevance = 1,
    .start = start_status,
    .done = write_done,
    .dropped = write_dropped,
};

const struct dispatch_kind recorder_event_kind = {
    .name = "event",
    .relevance = 0,
    .start = start_event,
    .done = write_done,
    .dropped = write_dropped,
};

/* The write may have been freed when this returns. */
static void
submit(struct recorder *r, const char *key, const struct dispatch_kind *kind,
       const char *failing_pod_key, struct single_event *single_event TAKES)
{
    struct recorder_write *w = xnew(struct recorder_write);
    struct dispatched_call *call;

    w->recorder = r;
    w->is_event = kind == &recorder_event_kind;
    w->failing_pod_key = failing_pod_key != NULL ? xstrdup(failing_pod_key) : NULL;
    w->single_event = single_event;
    list_add_last(&r->writes, &w->link);
    r->in_flight++;
    r->budget -= 1000000;
    call = dispatcher_add(r->settings.dispatcher, key, kind, w);
    if (call != NULL)
        w->call = call;
}

static void
write_failing_pod(struct recorder *r, struct failing_pod *s)
{
    CLEANUP_FREE char *key = xstrdup(s->key);
    CLEANUP_FREE char *event_key = xasprintf("event %s", s->key);
    bool has_event = s->has_new_event;

    recorder_mark_clean(r, s);
    if (has_new_status(s))
        submit(r, key, &recorder_status_kind, key, NULL);
    if (has_event)
        submit(r, event_key, &recorder_event_kind, key, NULL);
}

static void
write_single_event(struct recorder *r, struct single_event *m)
{
    CLEANUP_FREE char *key = xasprintf("event %llu", (unsigned long long)r->n_said++);

    list_remove(&m->link);
    r->n_single_events--;
    submit(r, key, &recorder_event_kind, NULL, m);
}

static bool
may_write(const struct recorder *r)
{
    return r->in_flight < MAX_IN_FLIGHT && r->budget >= 1000000;
}

bool
recorder_flush(struct recorder *r)
{
    int64_t now_us = clock_monotonic_us(r->settings.clock);
    int64_t most = (int64_t)r->settings.writes_per_second * 1000000;

    r->budget += (now_us - r->budget_at_us) * r->settings.writes_per_second;
    if (r->budget > most)
        r->budget = most;
    r->budget_at_us = now_us;
    while (may_write(r) && !list_is_empty(&r->dirty))
        write_failing_pod(r, container_of(r->dirty.next, struct failing_pod, link));
    while (may_write(r) && !list_is_empty(&r->single_events))
        write_single_event(r, container_of(r->single_events.next, struct single_event, link));
    return r->n_dirty + r->n_single_events > 0;
}
