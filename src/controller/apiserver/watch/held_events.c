/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/watch/held_events.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/loop/timer.h"

#define LONGEST_MS 200
#define MOST       64 /* so that a search through all is cheap */

struct held_event {
    enum client_event_type type;
    const struct object *object;
};

struct held_events {
    held_events_fn *send;
    void *context;
    struct timer *timer;
    struct held_event *events;
    size_t n, capacity;
};

static void
on_time(void *arg)
{
    held_events_release(arg);
}

struct held_events *
held_events_new(struct loop *loop, held_events_fn *send, void *context)
{
    struct held_events *held = xnew(struct held_events);

    held->send = send;
    held->context = context;
    held->timer = timer_new(loop, on_time, held);
    return held;
}

void
held_events_free(struct held_events *held)
{
    if (held == NULL)
        return;
    for (size_t i = 0; i < held->n; i++)
        object_unref(held->events[i].object);
    timer_free(held->timer);
    free(held->events);
    free(held);
}

void
held_events_release(struct held_events *held)
{
    if (held == NULL || held->n == 0)
        return;
    timer_stop(held->timer);
    for (size_t i = 0; i < held->n; i++) {
        held->send(held->events[i].type, held->events[i].object, held->context);
        object_unref(held->events[i].object);
    }
    held->n = 0;
}

/* Removes the object's last held event if that is a modification. */
static void
remove_change(struct held_events *held, const struct object *object)
{
    size_t i = held->n;

    while (i > 0 && strcmp(held->events[i - 1].object->meta->uid, object->meta->uid) != 0)
        i--;
    if (i == 0 || held->events[i - 1].type != CLIENT_MODIFIED)
        return;
    object_unref(held->events[i - 1].object);
    memmove(&held->events[i - 1], &held->events[i], (held->n - i) * sizeof(*held->events));
    held->n--;
}

static void
hold(struct held_events *held, enum client_event_type type, const struct object *object)
{
    if (type == CLIENT_DELETED)
        remove_change(held, object);
    xgrow(held->events, held->n, held->capacity);
    held->events[held->n++] = (struct held_event){
        .type = type,
        .object = object_ref(object),
    };
    if (held->n == MOST)
        held_events_release(held);
    else if (!timer_is_running(held->timer))
        timer_start(held->timer, LONGEST_MS);
}

static bool
is_urgent(enum client_event_type type, const struct object *object)
{
    const struct kind *kind = object->kind;

    return kind->is_final == NULL || type == CLIENT_ADDED || !kind->is_final(object)
           || object->meta->deleted_at_us != 0;
}

void
held_events_take(struct held_events *held, enum client_event_type type, const struct object *object)
{
    if (!is_urgent(type, object)) {
        hold(held, type, object);
        return;
    }
    held_events_release(held);
    held->send(type, object, held->context);
}
