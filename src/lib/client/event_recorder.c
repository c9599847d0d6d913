/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody waits for an Event, and none may cost a decision. So the rate has a bound, small
 * steps give way to what people need to know first, and a repetition raises the count of one
 * Event, which is written at 2, 4, 8 and so on.
 */
#include "lib/client/event_recorder.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/api/cluster/event.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/client/event_call.h"

#define PER_SECOND   200
#define BURST        400
#define STEP_RESERVE (BURST / 2) /* RECORD_STEP may not use this part */
#define MAX_CALLS    64u
#define MAX_RECORDED 4096u
#define SAME_FOR_US  (600 * INT64_C(1000000))

/* An Event that was recorded. A repetition within SAME_FOR_US raises its count.
 */
struct recorded_event {
    char *event_name;
    int64_t count;
    int64_t last_us;
};

struct event_write {
    struct list link;
    struct event_recorder *event_recorder;
    struct client_call *call;
};

struct event_recorder {
    struct client *client;
    struct clock *clock;
    const char *component, *host;
    struct map *recorded; /* by the object's uid, reason and message */
    struct list calls;
    unsigned n_calls;
    int64_t budget_us; /* refilled at PER_SECOND a second */
    int64_t filled_us;
    struct random_source random;
};

static void
forget_recorded(struct event_recorder *a)
{
    size_t at = 0;
    void *value;

    while (map_next(a->recorded, &at, NULL, &value)) {
        struct recorded_event *s = value;

        free(s->event_name);
        free(s);
    }
    map_clear(a->recorded);
}

struct event_recorder *
event_recorder_new(struct client *client, struct clock *clock, const char *component,
                   const char *host)
{
    struct event_recorder *a = xnew(struct event_recorder);

    a->client = client;
    a->clock = clock;
    a->component = component;
    a->host = host;
    a->recorded = map_new();
    a->budget_us = INT64_C(1000000) * BURST / PER_SECOND;
    a->filled_us = clock_monotonic_us(clock);
    list_init(&a->calls);
    random_bytes(&a->random.state, sizeof(a->random.state));
    return a;
}

void
event_recorder_free(struct event_recorder *a)
{
    if (a == NULL)
        return;
    list_foreach_safe(pos, &a->calls)
    {
        struct event_write *s = container_of(pos, struct event_write, link);

        client_cancel(s->call);
        free(s);
    }
    forget_recorded(a);
    map_free(a->recorded);
    free(a);
}

static bool
may_record(struct event_recorder *a, enum recorded_event_kind kind)
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
on_written(const struct client_reply *reply, void *context)
{
    struct event_write *s = context;

    (void)reply;
    s->event_recorder->n_calls--;
    list_remove(&s->link);
    free(s);
}

static void
send(struct event_recorder *a, const struct event *event,
     struct client_call *call(const struct event_call_target *, const struct event *))
{
    struct event_write *s = xnew(struct event_write);

    s->event_recorder = a;
    list_add_last(&a->calls, &s->link);
    a->n_calls++;
    s->call = call(&(struct event_call_target){a->client, on_written, s}, event);
}

static struct recorded_event *
remember(struct event_recorder *a, const char *key)
{
    struct recorded_event *recorded = map_find(a->recorded, key);

    if (recorded != NULL)
        return recorded;
    if (map_count(a->recorded) >= MAX_RECORDED)
        forget_recorded(a);
    recorded = xnew(struct recorded_event);
    map_put(a->recorded, key, recorded);
    return recorded;
}

void
event_recorder_record(struct event_recorder *a, const struct object *object,
                      enum recorded_event_kind kind, const char *reason, const char *message)
{
    CLEANUP_FREE char *key = NULL;
    int64_t now = clock_monotonic_us(a->clock);
    struct recorded_event *recorded;
    struct event event = {
        .involved =
            {
                .api_version = object->kind->api_version,
                .kind = object->kind->name,
                .namespace = object->meta->namespace,
                .name = object->meta->name,
                .uid = object->meta->uid,
                .resource_version = object->meta->resource_version,
            },
        .reason = reason,
        .type = kind == RECORD_WARNING ? "Warning" : "Normal",
        .component = a->component,
        .host = a->host,
        .first_at_us = clock_real_us(a->clock),
    };

    if (!may_record(a, kind))
        return;
    event.last_at_us = event.first_at_us;
    key = xasprintf("%s %s %s", object->meta->uid, reason, message);
    recorded = remember(a, key);
    if (recorded->count == 0 || now - recorded->last_us > SAME_FOR_US) {
        free(recorded->event_name);
        recorded->event_name = event_call_make_name(&a->random, object->meta->name);
        recorded->count = 0;
        event.message = message;
    }
    event.meta.name = recorded->event_name;
    event.count = ++recorded->count;
    if (recorded->count == 1)
        send(a, &event, event_call_create);
    /* at counts 2, 4, 8, ... */
    else if ((recorded->count & (recorded->count - 1)) == 0)
        send(a, &event, event_call_update);
    recorded->last_us = now;
}
