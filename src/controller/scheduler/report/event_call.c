/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/event_call.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"

/* kube-scheduler, truncateMessage: the longest note of an event. */
#define MESSAGE_LENGTH 1024

static void
set_time(struct arena *arena,
         struct json *object,
         const char *name,
         int64_t real_us)
{
    char text[TIME_TEXT_SIZE];

    time_format(real_us, false, text);
    json_set_string(arena, object, name, text);
}

static void
set_message(struct arena *arena, struct json *body, const char *message)
{
    static const char end[] = " ...";

    if (strlen(message) <= MESSAGE_LENGTH)
        json_set_string(arena, body, "message", message);
    else
        json_set(arena,
                 body,
                 "message",
                 json_stringf(arena,
                              "%.*s%s",
                              (int)(MESSAGE_LENGTH - strlen(end)),
                              message,
                              end));
}

static struct json *
involved_object(struct arena *arena, const struct pod_view *pod)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "kind", "Pod");
    json_set_string(arena, o, "namespace", pod->namespace);
    json_set_string(arena, o, "name", pod->name);
    if (pod->uid != NULL)
        json_set_string(arena, o, "uid", pod->uid);
    json_set_string(arena, o, "apiVersion", "v1");
    if (pod->pod->meta.resource_version != NULL)
        json_set_string(arena,
                        o,
                        "resourceVersion",
                        pod->pod->meta.resource_version);
    return o;
}

struct client_call *
event_call_create(const struct event_call_target *to,
                  const struct pod_view *pod,
                  const struct event_content *event)
{
    struct arena *arena = arena_new(2048);
    struct json *body = json_object(arena), *meta, *source;

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "Event");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", event->name);
    json_set_string(arena, meta, "namespace", pod->namespace);
    json_set(arena, body, "involvedObject", involved_object(arena, pod));
    json_set_string(arena, body, "reason", event->reason);
    set_message(arena, body, event->message);
    json_set_string(arena, body, "type", event->type);
    set_time(arena, body, "firstTimestamp", event->first_us);
    set_time(arena, body, "lastTimestamp", to->now_us);
    json_set_int(arena, body, "count", event->count);
    source = json_make_object(arena, body, "source");
    json_set_string(arena, source, "component", event->component);
    json_set_string(arena, body, "reportingComponent", event->component);
    return client_call(to->client,
                       arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &event_kind,
                           .namespace = pod->namespace,
                           .body = body,
                       },
                       to->done,
                       to->context);
}

struct client_call *
event_call_update(const struct event_call_target *to,
                  const struct pod_view *pod,
                  const struct event_content *event)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);

    json_set_int(arena, body, "count", event->count);
    set_message(arena, body, event->message);
    set_time(arena, body, "lastTimestamp", to->now_us);
    return client_call(to->client,
                       arena,
                       &(struct client_request){
                           .verb = CLIENT_MERGE_PATCH,
                           .kind = &event_kind,
                           .namespace = pod->namespace,
                           .name = event->name,
                           .body = body,
                       },
                       to->done,
                       to->context);
}

static void
set_condition(struct arena *arena,
              struct json *status,
              const char *reason,
              const char *message,
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

struct client_call *
event_call_patch_status(const struct event_call_target *to,
                        const struct pod_view *pod,
                        const char *reason,
                        const char *message,
                        const char *nominated)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    if (pod->uid != NULL)
        json_set_string(arena,
                        json_make_object(arena, body, "metadata"),
                        "uid",
                        pod->uid);
    if (message != NULL)
        set_condition(arena, status, reason, message, to->now_us);
    if (nominated != NULL)
        json_set(arena,
                 status,
                 "nominatedNodeName",
                 nominated[0] != '\0' ? json_string(arena, nominated)
                                      : json_null(arena));
    return client_call(to->client,
                       arena,
                       &(struct client_request){
                           .verb = CLIENT_STRATEGIC_PATCH,
                           .kind = &pod_kind,
                           .namespace = pod->namespace,
                           .name = pod->name,
                           .subresource = "status",
                           .body = body,
                       },
                       to->done,
                       to->context);
}
