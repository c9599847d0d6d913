/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/dispatcher.h"

#include <stdbool.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

#define AT_A_TIME 256
#define KINDS     8

/* An object that is written to. */
struct addressee {
    char *key;
    struct dispatch *waiting;
    struct dispatch *under_way;
};

struct dispatch {
    struct list link; /* of those that can start, or nowhere */
    struct dispatcher *owner;
    struct addressee *to;
    const struct dispatch_kind *kind;
    void *context;
    struct client_call *call;
    int64_t began_us;
};

struct kind_count {
    const struct dispatch_kind *kind;
    size_t waiting;
};

struct dispatcher {
    struct dispatcher_settings settings;
    struct map *addressees;
    struct list ready; /* the longest first */
    struct kind_count counts[KINDS];
    size_t n_waiting, n_under_way;
    bool is_held;
};

struct dispatcher *
dispatcher_new(const struct dispatcher_settings *settings)
{
    struct dispatcher *d = xnew(struct dispatcher);

    d->settings = *settings;
    if (d->settings.at_a_time == 0)
        d->settings.at_a_time = AT_A_TIME;
    d->addressees = map_new();
    list_init(&d->ready);
    return d;
}

static struct kind_count *
count_of(struct dispatcher *d, const struct dispatch_kind *kind)
{
    unsigned i = 0;

    while (i < KINDS - 1 && d->counts[i].kind != NULL
           && d->counts[i].kind != kind)
        i++;
    d->counts[i].kind = kind;
    return &d->counts[i];
}

static void
count_waiting(struct dispatch *call, bool is_more)
{
    struct dispatcher *d = call->owner;
    struct kind_count *of = count_of(d, call->kind);

    d->n_waiting += is_more ? 1 : (size_t)-1;
    of->waiting += is_more ? 1 : (size_t)-1;
}

static void
dispatch_free(struct dispatch *call)
{
    list_remove(&call->link);
    client_cancel(call->call);
    free(call);
}

static void
addressee_free(struct addressee *to)
{
    free(to->key);
    free(to);
}

void
dispatcher_free(struct dispatcher *d)
{
    size_t at = 0;
    void *value;

    if (d == NULL)
        return;
    while (map_next(d->addressees, &at, NULL, &value)) {
        struct addressee *to = value;

        if (to->waiting != NULL)
            dispatch_free(to->waiting);
        if (to->under_way != NULL)
            dispatch_free(to->under_way);
        addressee_free(to);
    }
    map_free(d->addressees);
    free(d);
}

/* After a call of it has gone: the one that waited can start. */
static void
settle(struct dispatcher *d, struct addressee *to)
{
    if (to->under_way != NULL)
        return;
    if (to->waiting == NULL) {
        map_remove(d->addressees, to->key);
        addressee_free(to);
    } else if (list_is_empty(&to->waiting->link)) {
        list_add_last(&d->ready, &to->waiting->link);
    }
}

static void start_ready(struct dispatcher *d);

static void
answered(const struct client_reply *reply, void *context)
{
    struct dispatch *call = context;
    struct dispatcher *d = call->owner;
    const struct dispatch_kind *kind = call->kind;
    void *own = call->context;

    call->call = NULL;
    if (d->settings.ended != NULL)
        d->settings.ended(kind,
                          reply->code,
                          clock_monotonic_us(d->settings.clock)
                              - call->began_us,
                          d->settings.context);
    d->n_under_way--;
    call->to->under_way = NULL;
    settle(d, call->to);
    dispatch_free(call);
    kind->done(reply, own);
    start_ready(d);
}

/* False: there was nothing to say, and it is gone. */
static bool
start(struct dispatcher *d, struct dispatch *call)
{
    const struct dispatch_kind *kind = call->kind;
    void *own = call->context;

    list_remove(&call->link);
    count_waiting(call, false);
    call->to->waiting = NULL;
    call->to->under_way = call;
    call->began_us = clock_monotonic_us(d->settings.clock);
    call->call = kind->start(d->settings.client, answered, call, own);
    if (call->call != NULL) {
        d->n_under_way++;
        return true;
    }
    call->to->under_way = NULL;
    settle(d, call->to);
    dispatch_free(call);
    kind->dropped(own);
    return false;
}

static bool
has_room(const struct dispatcher *d)
{
    return !d->is_held && d->n_under_way < d->settings.at_a_time;
}

static void
start_ready(struct dispatcher *d)
{
    while (has_room(d) && !list_is_empty(&d->ready))
        (void)start(d, container_of(d->ready.next, struct dispatch, link));
}

static struct addressee *
addressee_of(struct dispatcher *d, const char *key)
{
    struct addressee *to = map_find(d->addressees, key);

    if (to == NULL) {
        to = xnew(struct addressee);
        to->key = xstrdup(key);
        map_put(d->addressees, key, to);
    }
    return to;
}

/* The one that waits gives way, and keeps its place in line for it. */
static void
replace(struct dispatch *old, struct dispatch *call)
{
    const struct dispatch_kind *kind = old->kind;
    void *own = old->context;

    if (!list_is_empty(&old->link))
        list_add_last(&old->link, &call->link);
    count_waiting(old, false);
    dispatch_free(old);
    kind->dropped(own);
}

struct dispatch *
dispatcher_add(struct dispatcher *d,
               const char *key,
               const struct dispatch_kind *kind,
               void *context)
{
    struct addressee *to = addressee_of(d, key);
    struct dispatch *old = to->waiting, *call;

    if (old != NULL && old->kind->relevance > kind->relevance) {
        kind->dropped(context);
        return NULL;
    }
    call = xnew(struct dispatch);
    list_init(&call->link);
    call->owner = d;
    call->to = to;
    call->kind = kind;
    call->context = context;
    to->waiting = call;
    count_waiting(call, true);
    if (old != NULL)
        replace(old, call);
    settle(d, to);
    if (list_is_empty(&call->link) || !has_room(d))
        return call;
    return start(d, call) ? call : NULL;
}

void
dispatch_cancel(struct dispatch *call)
{
    struct dispatcher *d;
    struct addressee *to;

    if (call == NULL)
        return;
    d = call->owner;
    to = call->to;
    if (to->waiting == call) {
        to->waiting = NULL;
        count_waiting(call, false);
    } else {
        to->under_way = NULL;
        d->n_under_way--;
    }
    dispatch_free(call);
    settle(d, to);
    start_ready(d);
}

void
dispatcher_hold(struct dispatcher *d, bool is_held)
{
    d->is_held = is_held;
    start_ready(d);
}

size_t
dispatcher_waiting(const struct dispatcher *d, const struct dispatch_kind *kind)
{
    if (kind == NULL)
        return d->n_waiting;
    for (unsigned i = 0; i < KINDS; i++)
        if (d->counts[i].kind == kind)
            return d->counts[i].waiting;
    return 0;
}

size_t
dispatcher_under_way(const struct dispatcher *d)
{
    return d->n_under_way;
}
