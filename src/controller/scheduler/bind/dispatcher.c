/* SPDX-License-Identifier: Apache-2.0 */
/* The API is asked for one object at a time and in order, because a status that overtakes a
 * binding would be refused or, worse, win. A call that still waits is replaced by one that
 * knows more, instead of both being sent. Bodies are made when a call starts, not when it is
 * added: a busy controller then gets fewer and newer writes.
 */
#include "controller/scheduler/bind/dispatcher.h"

#include <stdbool.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

#define AT_A_TIME 256
#define KINDS     8

/* An object that is written to. */
struct call_target {
    char *key;
    struct dispatched_call *waiting;
    struct dispatched_call *under_way;
};

struct dispatched_call {
    struct list link; /* of the calls that can start, or of none */
    struct dispatcher *owner;
    struct call_target **to; /* &first, or an array of its own */
    struct call_target *first;
    unsigned n_to;
    /* While the call waits: how many of its objects have a call under way. */
    unsigned n_busy;
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
    struct map *targets;
    struct list ready; /* the one that waited longest first */
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
    d->targets = map_new();
    list_init(&d->ready);
    return d;
}

static struct kind_count *
count_of(struct dispatcher *d, const struct dispatch_kind *kind)
{
    unsigned i = 0;

    while (i < KINDS - 1 && d->counts[i].kind != NULL && d->counts[i].kind != kind)
        i++;
    d->counts[i].kind = kind;
    return &d->counts[i];
}

static void
count_waiting(struct dispatched_call *call, bool is_more)
{
    struct dispatcher *d = call->owner;
    struct kind_count *of = count_of(d, call->kind);

    d->n_waiting += is_more ? 1 : (size_t)-1;
    of->waiting += is_more ? 1 : (size_t)-1;
}

static void
dispatch_free(struct dispatched_call *call)
{
    list_remove(&call->link);
    client_cancel(call->call);
    if (call->to != &call->first)
        free(call->to);
    free(call);
}

static void
call_target_free(struct call_target *to)
{
    free(to->key);
    free(to);
}

/* Frees the call and keeps the entries of its objects. */
static void
forget(struct dispatched_call *call)
{
    for (unsigned i = 0; i < call->n_to; i++) {
        struct call_target *to = call->to[i];

        if (to->waiting == call)
            to->waiting = NULL;
        else if (to->under_way == call)
            to->under_way = NULL;
    }
    dispatch_free(call);
}

void
dispatcher_free(struct dispatcher *d)
{
    size_t at = 0;
    void *value;

    if (d == NULL)
        return;
    while (map_next(d->targets, &at, NULL, &value)) {
        struct call_target *to = value;

        if (to->waiting != NULL)
            forget(to->waiting);
        if (to->under_way != NULL)
            forget(to->under_way);
    }
    at = 0;
    while (map_next(d->targets, &at, NULL, &value))
        call_target_free(value);
    map_free(d->targets);
    free(d);
}

/* A call can start when none of its objects has a call under way. */
static void
make_ready(struct dispatched_call *call)
{
    if (call->n_busy == 0 && list_is_empty(&call->link))
        list_add_last(&call->owner->ready, &call->link);
}

/* Frees the entry of an object that no call waits for or writes to. */
static void
drop_if_idle(struct dispatcher *d, struct call_target *to)
{
    if (to->under_way != NULL)
        return;
    if (to->waiting == NULL) {
        map_remove(d->targets, to->key);
        call_target_free(to);
    }
}

/* The call no longer waits, or has ended, for all its objects. */
static void
leave(struct dispatched_call *call)
{
    for (unsigned i = 0; i < call->n_to; i++) {
        struct call_target *to = call->to[i];

        if (to->waiting == call) {
            to->waiting = NULL;
        } else {
            to->under_way = NULL;
            if (to->waiting != NULL && --to->waiting->n_busy == 0)
                make_ready(to->waiting);
        }
        drop_if_idle(call->owner, to);
    }
}

static void start_ready(struct dispatcher *d);

static void
answered(const struct client_reply *reply, void *context)
{
    struct dispatched_call *call = context;
    struct dispatcher *d = call->owner;
    const struct dispatch_kind *kind = call->kind;
    void *own = call->context;

    call->call = NULL;
    if (d->settings.ended != NULL)
        d->settings.ended(kind, reply->code, clock_monotonic_us(d->settings.clock) - call->began_us,
                          d->settings.context);
    d->n_under_way--;
    leave(call);
    dispatch_free(call);
    kind->done(reply, own);
    start_ready(d);
}

/* False: there was nothing to write, and the call is freed. */
static bool
start(struct dispatcher *d, struct dispatched_call *call)
{
    const struct dispatch_kind *kind = call->kind;
    void *own = call->context;

    list_remove(&call->link);
    count_waiting(call, false);
    for (unsigned i = 0; i < call->n_to; i++) {
        call->to[i]->waiting = NULL;
        call->to[i]->under_way = call;
    }
    call->began_us = clock_monotonic_us(d->settings.clock);
    call->call = kind->start(d->settings.client, answered, call, own);
    if (call->call != NULL) {
        d->n_under_way++;
        return true;
    }
    leave(call);
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
        (void)start(d, container_of(d->ready.next, struct dispatched_call, link));
}

static struct call_target *
call_target_of(struct dispatcher *d, const char *key)
{
    struct call_target *to = map_find(d->targets, key);

    if (to == NULL) {
        to = xnew(struct call_target);
        to->key = xstrdup(key);
        map_put(d->targets, key, to);
    }
    return to;
}

/* The call no longer waits for its objects. If the new call is of one object,
 * it takes over the place in the list of calls that can start.
 */
static void
withdraw(struct dispatched_call *old, struct dispatched_call *call, struct list *withdrawn)
{
    for (unsigned i = 0; i < old->n_to; i++)
        old->to[i]->waiting = NULL;
    if (!list_is_empty(&old->link) && call->n_to == 1)
        list_add_last(&old->link, &call->link);
    list_remove(&old->link);
    list_add_last(withdrawn, &old->link);
    count_waiting(old, false);
}

static void
drop(struct dispatched_call *call)
{
    const struct dispatch_kind *kind = call->kind;
    void *own = call->context;

    for (unsigned i = 0; i < call->n_to; i++)
        drop_if_idle(call->owner, call->to[i]);
    dispatch_free(call);
    kind->dropped(own);
}

static bool
is_outranked(const struct dispatched_call *call)
{
    for (unsigned i = 0; i < call->n_to; i++) {
        const struct dispatched_call *old = call->to[i]->waiting;

        if (old != NULL && old->kind->relevance > call->kind->relevance)
            return true;
    }
    return false;
}

/* Waiting calls for the same objects are dropped. */
static void
supersede_waiting(struct dispatched_call *call)
{
    struct list withdrawn;

    list_init(&withdrawn);
    count_waiting(call, true);
    for (unsigned i = 0; i < call->n_to; i++)
        if (call->to[i]->waiting != NULL)
            withdraw(call->to[i]->waiting, call, &withdrawn);
    for (unsigned i = 0; i < call->n_to; i++) {
        call->to[i]->waiting = call;
        call->n_busy += call->to[i]->under_way != NULL;
    }
    while (!list_is_empty(&withdrawn))
        drop(container_of(withdrawn.next, struct dispatched_call, link));
    make_ready(call);
}

struct dispatched_call *
dispatcher_add_for_all(struct dispatcher *d, const char *const *keys, unsigned n_keys,
                       const struct dispatch_kind *kind, void *context)
{
    struct dispatched_call *call = xnew(struct dispatched_call);

    list_init(&call->link);
    call->owner = d;
    call->to = n_keys == 1 ? &call->first : xnew_array(struct call_target *, n_keys);
    call->n_to = n_keys;
    call->kind = kind;
    call->context = context;
    for (unsigned i = 0; i < n_keys; i++)
        call->to[i] = call_target_of(d, keys[i]);
    if (is_outranked(call)) {
        drop(call);
        return NULL;
    }
    supersede_waiting(call);
    if (call->n_busy > 0 || !has_room(d))
        return call;
    return start(d, call) ? call : NULL;
}

struct dispatched_call *
dispatcher_add(struct dispatcher *d, const char *key, const struct dispatch_kind *kind,
               void *context)
{
    return dispatcher_add_for_all(d, &key, 1, kind, context);
}

void
dispatch_cancel(struct dispatched_call *call)
{
    struct dispatcher *d;

    if (call == NULL)
        return;
    d = call->owner;
    if (call->to[0]->waiting == call)
        count_waiting(call, false);
    else
        d->n_under_way--;
    leave(call);
    dispatch_free(call);
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
