/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/dispatch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/frame.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define REST_US 20000 /* at the most between two rounds */

struct dispatch {
    struct loop *loop;
    dispatch_fn *flush;
    struct list planned;
    struct timer *timer;
    bool is_awaited; /* a round */
    bool is_freed;   /* but for that */
    int64_t next_us; /* not before */

    struct frame *frames[DISPATCH_JOINED]; /* references */
    size_t n_frames;
    struct frame *joined;
};

static void
forget_joined(struct dispatch *d)
{
    for (size_t i = 0; i < d->n_frames; i++)
        frame_unref(d->frames[i]);
    frame_unref(d->joined);
    d->n_frames = 0;
    d->joined = NULL;
}

/* Those that are planned meanwhile are for the next round. */
static void
make_round(struct dispatch *d)
{
    int64_t begin_us = clock_monotonic_us(&clock_system);
    struct list now;
    int64_t end_us;

    list_take_over(&now, &d->planned);
    d->is_awaited = false;
    while (!list_is_empty(&now)) {
        struct dispatch_entry *entry =
            container_of(now.next, struct dispatch_entry, link);

        dispatch_forget(entry);
        d->flush(entry);
    }
    forget_joined(d);
    end_us = clock_monotonic_us(&clock_system);
    d->next_us =
        end_us + (end_us - begin_us < REST_US ? end_us - begin_us : REST_US);
}

static void
on_time(void *arg)
{
    make_round(arg);
}

static void
on_turn(void *arg)
{
    struct dispatch *d = arg;

    if (d->is_freed)
        free(d);
    else
        make_round(d);
}

struct dispatch *
dispatch_new(struct loop *loop, dispatch_fn *flush)
{
    struct dispatch *d = xnew(struct dispatch);

    d->loop = loop;
    d->flush = flush;
    list_init(&d->planned);
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
    int64_t wait_us;

    if (entry->is_planned)
        return;
    entry->is_planned = true;
    list_add_last(&d->planned, &entry->link);
    if (d->is_awaited)
        return;
    d->is_awaited = true;
    wait_us = d->next_us - clock_monotonic_us(&clock_system);
    if (wait_us < 1000)
        loop_defer(d->loop, on_turn, d);
    else
        timer_start(d->timer, wait_us / 1000);
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
    return n == d->n_frames
           && memcmp(frames, d->frames, n * sizeof(*frames)) == 0;
}

struct frame *
dispatch_join(struct dispatch *d, struct frame *const *frames, size_t n)
{
    if (is_joined(d, frames, n))
        return d->joined;
    forget_joined(d);
    d->joined = frame_new();
    for (size_t i = 0; i < n; i++) {
        d->frames[i] = frame_ref(frames[i]);
        frame_add_frame(d->joined, frames[i]);
    }
    d->n_frames = n;
    return d->joined;
}
