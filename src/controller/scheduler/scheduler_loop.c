/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/scheduler_loop.h"

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/scheduler.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

/* Cycles in one turn of the loop: about a millisecond. */
#define CYCLES_PER_TURN 64

#define TICK_MS 100

struct scheduler_loop {
    struct clock *clock;
    struct scheduler *scheduler; /* NULL: not started */
    struct timer *work;          /* due at once when there is work */
    struct timer *tick;
    struct timer *backoff;
};

/* A pod that leaves backoff before the next tick does not wait for the tick. */
static void
follow_backoff(struct scheduler_loop *l)
{
    int64_t next_us = scheduler_next_us(l->scheduler), wait_us;

    if (next_us == INT64_MAX)
        return;
    wait_us = next_us - clock_monotonic_us(l->clock);
    if (wait_us < (int64_t)TICK_MS * 1000)
        timer_start(l->backoff, wait_us > 0 ? wait_us / 1000 + 1 : 1);
}

static void
work_due(void *arg)
{
    struct scheduler_loop *l = arg;

    if (scheduler_work(l->scheduler, CYCLES_PER_TURN))
        timer_start(l->work, 0);
    else
        follow_backoff(l);
}

static void
tick_due(void *arg)
{
    struct scheduler_loop *l = arg;

    scheduler_tick(l->scheduler);
    follow_backoff(l);
}

struct scheduler_loop *
scheduler_loop_new(struct loop *loop, struct clock *clock)
{
    struct scheduler_loop *l = xnew(struct scheduler_loop);

    l->clock = clock;
    l->work = timer_new(loop, work_due, l);
    l->tick = timer_new(loop, tick_due, l);
    l->backoff = timer_new(loop, tick_due, l);
    return l;
}

void
scheduler_loop_free(struct scheduler_loop *l)
{
    if (l == NULL)
        return;
    timer_free(l->work);
    timer_free(l->tick);
    timer_free(l->backoff);
    free(l);
}

void
scheduler_loop_start(struct scheduler_loop *l, struct scheduler *scheduler)
{
    l->scheduler = scheduler;
    scheduler_start(scheduler);
    timer_repeat(l->tick, TICK_MS);
    timer_start(l->work, 0);
}

void
scheduler_loop_stop(struct scheduler_loop *l)
{
    l->scheduler = NULL;
    timer_stop(l->tick);
    timer_stop(l->work);
    timer_stop(l->backoff);
}

void
scheduler_loop_ready(void *context)
{
    struct scheduler_loop *l = context;

    if (l->scheduler != NULL && !timer_is_running(l->work))
        timer_start(l->work, 0);
}
