/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/dispatch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/frame.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define REST_US  20000 /* the longest pause between two rounds */
#define SLICE_US 2000  /* of a round, before the loop does other work */

struct dispatch {
    struct loop *loop;
    dispatch_fn *flush;
    struct list planned;
    struct list round; /* entries that the current round has not flushed */
    int64_t spent_us;  /* on the current round */
    struct timer *timer;
    bool is_awaited; /* a round, or the rest of one, is due */
    bool is_freed;   /* on_turn is deferred, and frees this struct */
    int64_t next_us; /* the earliest time of the next round */

    struct frame *frames[DISPATCH_JOINED]; /* references */
    size_t n_frames;
    struct frame *joined;
};

static void on_turn(void *arg);

static void
forget_joined(struct dispatch *d)
{
    for (size_t i = 0; i < d->n_frames; i++)
        frame_unref(d->frames[i]);
    frame_unref(d->joined);
    d->n_frames = 0;
    d->joined = NULL;
}

static void
await_round(struct dispatch *d)
{
    int64_t wait_us = d->next_us - clock_monotonic_us(&clock_system);

    d->is_awaited = true;
    if (wait_us < 1000)
        loop_defer(d->loop, on_turn, d);
    else
        timer_start(d->timer, wait_us / 1000);
}

static void
end_round(struct dispatch *d)
{
    int64_t rest_us = d->spent_us < REST_US ? d->spent_us : REST_US;

    forget_joined(d);
    d->next_us = clock_monotonic_us(&clock_system) + rest_us;
    d->is_awaited = false;
    if (!list_is_empty(&d->planned))
        await_round(d);
}

/* Entries that are planned during a round wait for the next one. */
static void
go_round(struct dispatch *d)
{
    int64_t begin_us = clock_monotonic_us(&clock_system), spent_us = 0;

    if (list_is_empty(&d->round)) {
        list_take_over(&d->round, &d->planned);
        d->spent_us = 0;
    }
    while (!list_is_empty(&d->round) && spent_us < SLICE_US) {
        struct dispatch_entry *entry = container_of(d->round.next, struct dispatch_entry, link);

        dispatch_forget(entry);
        d->flush(entry);
        spent_us = clock_monotonic_us(&clock_system) - begin_us;
    }
    d->spent_us += spent_us;
    if (list_is_empty(&d->round))
        end_round(d);
    else
        timer_start(d->timer, 0);
}

static void
on_time(void *arg)
{
    go_round(arg);
}

static void
on_turn(void *arg)
{
    struct dispatch *d = arg;

    if (d->is_freed)
        free(d);
    else
        go_round(d);
}

struct dispatch *
dispatch_new(struct loop *loop, dispatch_fn *flush)
{
    struct dispatch *d = xnew(struct dispatch);

    d->loop = loop;
    d->flush = flush;
    list_init(&d->planned);
    list_init(&d->round);
    d->timer = timer_new(loop, on_time, d);
    return d;
}

void
dispatch_free(struct dispatch *d)
{
    bool is_deferred;

    if (d == NULL)
        return;
    is_deferred = d->is_awaited && !timer_is_running(d->timer);
    forget_joined(d);
    timer_free(d->timer);
    d->is_freed = true;
    if (!is_deferred)
        free(d);
}

void
dispatch_plan(struct dispatch *d, struct dispatch_entry *entry)
{
    if (entry->is_planned)
        return;
    entry->is_planned = true;
    list_add_last(&d->planned, &entry->link);
    if (!d->is_awaited)
        await_round(d);
}

void
dispatch_forget(struct dispatch_entry *entry)
{
    if (entry->is_planned)
        list_remove(&entry->link);
    entry->is_planned = false;
}

static bool
is_joined(const struct dispatch *d, struct frame *const *frames, size_t n)
{
    return n == d->n_frames && memcmp(frames, d->frames, n * sizeof(*frames)) == 0;
}

struct frame *
dispatch_join(struct dispatch *d, struct frame *const *frames, size_t n)
{
    size_t length = 0;

    if (is_joined(d, frames, n))
        return d->joined;
    forget_joined(d);
    d->joined = frame_new();
    for (size_t i = 0; i < n; i++)
        length += frame_length(frames[i]);
    frame_reserve(d->joined, length);
    for (size_t i = 0; i < n; i++) {
        d->frames[i] = frame_ref(frames[i]);
        frame_add_frame(d->joined, frames[i]);
    }
    d->n_frames = n;
    return d->joined;
}
