/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/event_recorder.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PER_SECOND   200
#define BURST        400
#define STEP_RESERVE (BURST / 2) /* kept for what is no mere step */
#define MAX_CALLS    64u
#define MAX_SAID     4096u
#define SAME_FOR_US  (600 * INT64_C(1000000))

/* An Event that was recorded, until a repetition would be a new Event. */
struct said {
    char *event_name;
    int64_t count;
    int64_t last_us;
};

struct saying {
    struct list link;
    struct event_recorder *event_recorder;
    struct client_call *call;
};

struct event_recorder {
    struct client *client;
    struct clock *clock;
    const char *component, *host;
    struct map *said; /* by uid, reason and message */
    struct list calls;
    unsigned n_calls;
    int64_t budget_us; /* a second of time buys PER_SECOND */
    int64_t filled_us;
};

static void
forget_said(struct event_recorder *a)
{
    size_t at = 0;
    void *value;

    while (map_next(a->said, &at, NULL, &value)) {
        struct said *s = value;

        free(s->event_name);
        free(s);
    }
    map_clear(a->said);
}

struct event_recorder *
event_recorder_new(struct client *client,
                   struct clock *clock,
                   const char *component,
                   const char *host)
{
    struct event_recorder *a = xnew(struct event_recorder);

    a->client = client;
    a->clock = clock;
    a->component = component;
    a->host = host;
    a->said = map_new();
    a->budget_us = INT64_C(1000000) * BURST / PER_SECOND;
    a->filled_us = clock_monotonic_us(clock);
    list_init(&a->calls);
    return a;
}

void
event_recorder_free(struct event_recorder *a)
{
    if (a == NULL)
        return;
    list_foreach_safe(pos, &a->calls)
    {
        struct saying *s = container_of(pos, struct saying, link);

        client_cancel(s->call);
        free(s);
    }
    forget_said(a);
    map_free(a->said);
    free(a);
}

static bool
may_say(struct event_recorder *a, enum recorded_event_kind kind)
{
    const int64_t full_us = INT64_C(1000000) * BURST / PER_SECOND;
    const int64_t price_us = INT64_C(1000000) / PER_SECOND;
    int64_t reserve_us = kind == RECORD_STEP ? STEP_RESERVE * price_us : 0;
    int64_t now = clock_monotonic_us(a->clock);

    a->budget_us += now - a->filled_us;
    a->filled_us = now;
    if (a->budget_us > full_us)
        a->budget_us = full_us;
    if (a->n_calls >= MAX_CALLS || a->budget_us - price_us < reserve_us)
        return false;
    a->budget_us -= price_us;
    return true;
}

static void
on_said(const struct client_reply *reply, void *context)
{
    struct saying *s = context;

    (void)reply;
    s->event_recorder->n_calls--;
    list_remove(&s->link);
    free(s);
}

static void
send(struct event_recorder *a,
     struct arena *arena TAKES,
     const struct client_request *request)
{
    struct saying *s = xnew(struct saying);

    s->event_recorder = a;
    list_add_last(&a->calls, &s->link);
    a->n_calls++;
    s->call = client_call(a->client, arena, request, on_said, s);
}

/* Events of what is in no namespace stand in "default", as upstream's. */
static const char *
namespace_of(const struct object *object)
{
    const char *namespace = object->meta->namespace;

    return namespace != NULL ? namespace : "default";
}

static struct json *
reference_to(struct arena *arena, const struct object *object)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "kind", object->kind->name);
    if (object->meta->namespace != NULL)
        json_set_string(arena, o, "namespace", object->meta->namespace);
    json_set_string(arena, o, "name", object->meta->name);
    json_set_string(arena, o, "uid", object->meta->uid);
    json_set_string(arena, o, "apiVersion", object->kind->api_version);
    json_set_string(arena,
                    o,
                    "resourceVersion",
                    object->meta->resource_version);
    return o;
}

static void
say_first(struct event_recorder *a,
          const struct object *object,
          enum recorded_event_kind kind,
          const char *reason,
          const char *message,
          struct said *said)
{
    struct arena *arena = arena_new(2048);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *source;
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(a->clock), false, now);
    json_set_string(arena, body, "apiVersion", event_kind.api_version);
    json_set_string(arena, body, "kind", event_kind.name);
    json_set_string(arena, meta, "name", said->event_name);
    json_set_string(arena, meta, "namespace", namespace_of(object));
    json_set(arena, body, "involvedObject", reference_to(arena, object));
    json_set_string(arena, body, "reason", reason);
    json_set_string(arena, body, "message", message);
    json_set_string(arena,
                    body,
                    "type",
                    kind == RECORD_WARNING ? "Warning" : "Normal");
    json_set_string(arena, body, "firstTimestamp", now);
    json_set_string(arena, body, "lastTimestamp", now);
    json_set_int(arena, body, "count", 1);
    source = json_make_object(arena, body, "source");
    json_set_string(arena, source, "component", a->component);
    if (a->host != NULL)
        json_set_string(arena, source, "host", a->host);
    json_set_string(arena, body, "reportingComponent", a->component);
    send(a,
         arena,
         &(struct client_request){
             .verb = CLIENT_CREATE,
             .kind = &event_kind,
             .namespace = namespace_of(object),
             .body = body,
         });
}

static void
say_again(struct event_recorder *a,
          const struct object *object,
          const struct said *said)
{
    struct arena *arena = arena_new(512);
    struct json *body = json_object(arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(a->clock), false, now);
    json_set_int(arena, body, "count", said->count);
    json_set_string(arena, body, "lastTimestamp", now);
    send(a,
         arena,
         &(struct client_request){
             .verb = CLIENT_MERGE_PATCH,
             .kind = &event_kind,
             .namespace = namespace_of(object),
             .name = said->event_name,
             .body = body,
         });
}

/* Under a name of its own, as one that is said for the first time. */
static void
begin_anew(struct said *said, const struct object *object)
{
    uint64_t number;

    random_bytes(&number, sizeof(number));
    free(said->event_name);
    said->event_name =
        xasprintf("%.200s.%016" PRIx64, object->meta->name, number);
    said->count = 1;
}

static struct said *
remember(struct event_recorder *a, const char *key)
{
    struct said *said = map_find(a->said, key);

    if (said != NULL)
        return said;
    if (map_count(a->said) >= MAX_SAID)
        forget_said(a);
    said = xnew(struct said);
    map_put(a->said, key, said);
    return said;
}

void
event_recorder_record(struct event_recorder *a,
                      const struct object *object,
                      enum recorded_event_kind kind,
                      const char *reason,
                      const char *message)
{
    CLEANUP_FREE char *key =
        xasprintf("%s %s %s", object->meta->uid, reason, message);
    int64_t now = clock_monotonic_us(a->clock);
    struct said *said;

    if (!may_say(a, kind))
        return;
    said = remember(a, key);
    if (said->count == 0 || now - said->last_us > SAME_FOR_US) {
        begin_anew(said, object);
        say_first(a, object, kind, reason, message, said);
    } else {
        said->count++;
        if ((said->count & (said->count - 1)) == 0) /* 2, 4, 8, ... */
            say_again(a, object, said);
    }
    said->last_us = now;
}
