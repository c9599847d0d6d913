/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/timer.h"

#include <event2/event.h>
#include <event2/event_struct.h>

#include "lib/base/alloc.h"
#include "lib/loop/base.h"

struct timer {
    struct event event;
    struct event_base *base;
    loop_fn fn;
    void *arg;
};

static void
on_time(evutil_socket_t fd, short events, void *arg)
{
    struct timer *t = arg;

    (void)fd;
    (void)events;
    t->fn(t->arg);
}

static void
run(struct timer *t, int64_t ms, short events)
{
    struct timeval tv;

    if (ms < 0)
        ms = 0;
    tv = (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_del(&t->event);
    event_assign(&t->event, t->base, -1, events, on_time, t);
    event_add(&t->event, &tv);
}

void
timer_free(struct timer *t)
{
    if (t == NULL)
        return;
    event_del(&t->event);
    free(t);
}

struct timer *
timer_new(struct loop *loop, loop_fn fn, void *arg)
{
    struct timer *t = xnew(struct timer);

    t->base = loop_base(loop);
    t->fn = fn;
    t->arg = arg;
    event_assign(&t->event, t->base, -1, 0, on_time, t);
    return t;
}

void
timer_start(struct timer *t, int64_t after_ms)
{
    run(t, after_ms, 0);
}

void
timer_repeat(struct timer *t, int64_t every_ms)
{
    run(t, every_ms < 1 ? 1 : every_ms, EV_PERSIST);
}

void
timer_stop(struct timer *t)
{
    event_del(&t->event);
}

bool
timer_is_running(const struct timer *t)
{
    return event_pending(&t->event, EV_TIMEOUT, NULL) != 0;
}
