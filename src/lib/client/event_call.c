/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/event_call.h"

#include <inttypes.h>
#include <string.h>

#include "lib/api/cluster/event.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"

/* The longest note of an event; from kube-scheduler's truncateMessage. */
#define MESSAGE_LENGTH 1024

char *
event_call_make_name(struct random_source *random, const char *about)
{
    return event_call_format_name(about, event_call_make_number(random));
}

uint64_t
event_call_make_number(struct random_source *random)
{
    uint64_t number;

    do
        number = random_next(random);
    while (number == 0);
    return number;
}

char *
event_call_format_name(const char *about, uint64_t number)
{
    return xasprintf("%.200s.%016" PRIx64, about, number);
}

static void
set_text(struct arena *arena, struct json *object, const char *name, const char *text)
{
    if (text != NULL)
        json_set_string(arena, object, name, text);
}

static void
set_time(struct arena *arena, struct json *object, const char *name, int64_t real_us)
{
    char text[TIME_TEXT_SIZE];

    time_format(real_us, false, text);
    json_set_string(arena, object, name, text);
}

static void
set_message(struct arena *arena, struct json *body, const char *message)
{
    static const char end[] = " ...";

    if (message == NULL || strlen(message) <= MESSAGE_LENGTH)
        set_text(arena, body, "message", message);
    else
        json_set(arena, body, "message",
                 json_stringf(arena, "%.*s%s", (int)(MESSAGE_LENGTH - strlen(end)), message, end));
}

static void
set_reference(struct arena *arena, struct json *body, const struct object_reference *to)
{
    struct json *o = json_make_object(arena, body, "involvedObject");

    set_text(arena, o, "kind", to->kind);
    set_text(arena, o, "namespace", to->namespace);
    set_text(arena, o, "name", to->name);
    set_text(arena, o, "uid", to->uid);
    set_text(arena, o, "apiVersion", to->api_version);
    set_text(arena, o, "resourceVersion", to->resource_version);
}

static const char *
namespace_of(const struct event *event)
{
    return event->involved.namespace != NULL ? event->involved.namespace : "default";
}

struct client_call *
event_call_create(const struct event_call_target *to, const struct event *event)
{
    struct arena *arena = arena_new(2048);
    struct json *body = json_object(arena), *meta, *source;

    json_set_string(arena, body, "apiVersion", event_kind.api_version);
    json_set_string(arena, body, "kind", event_kind.name);
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", event->meta.name);
    json_set_string(arena, meta, "namespace", namespace_of(event));
    set_reference(arena, body, &event->involved);
    json_set_string(arena, body, "reason", event->reason);
    set_message(arena, body, event->message);
    json_set_string(arena, body, "type", event->type);
    set_time(arena, body, "firstTimestamp", event->first_at_us);
    set_time(arena, body, "lastTimestamp", event->last_at_us);
    json_set_int(arena, body, "count", event->count);
    source = json_make_object(arena, body, "source");
    json_set_string(arena, source, "component", event->component);
    set_text(arena, source, "host", event->host);
    json_set_string(arena, body, "reportingComponent", event->component);
    return client_call(to->client, arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &event_kind,
                           .namespace = namespace_of(event),
                           .body = body,
                       },
                       to->done, to->context);
}

struct client_call *
event_call_update(const struct event_call_target *to, const struct event *event)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);

    json_set_int(arena, body, "count", event->count);
    set_message(arena, body, event->message);
    set_time(arena, body, "lastTimestamp", event->last_at_us);
    return client_call(to->client, arena,
                       &(struct client_request){
                           .verb = CLIENT_MERGE_PATCH,
                           .kind = &event_kind,
                           .namespace = namespace_of(event),
                           .name = event->meta.name,
                           .body = body,
                       },
                       to->done, to->context);
}
