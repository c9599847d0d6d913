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
follow_backoff(struct scheduler_loop *p)
{
    int64_t next_us = scheduler_next_us(p->scheduler), wait_us;

    if (next_us == INT64_MAX)
        return;
    wait_us = next_us - clock_monotonic_us(p->clock);
    if (wait_us < (int64_t)TICK_MS * 1000)
        timer_start(p->backoff, wait_us > 0 ? wait_us / 1000 + 1 : 1);
}

static void
work_due(void *arg)
{
    struct scheduler_loop *p = arg;

    if (scheduler_work(p->scheduler, CYCLES_PER_TURN))
        timer_start(p->work, 0);
    else
        follow_backoff(p);
}

static void
tick_due(void *arg)
{
    struct scheduler_loop *p = arg;

    scheduler_tick(p->scheduler);
    follow_backoff(p);
}

struct scheduler_loop *
scheduler_loop_new(struct loop *loop, struct clock *clock)
{
    struct scheduler_loop *p = xnew(struct scheduler_loop);

    p->clock = clock;
    p->work = timer_new(loop, work_due, p);
    p->tick = timer_new(loop, tick_due, p);
    p->backoff = timer_new(loop, tick_due, p);
    return p;
}

void
scheduler_loop_free(struct scheduler_loop *p)
{
    if (p == NULL)
        return;
    timer_free(p->work);
    timer_free(p->tick);
    timer_free(p->backoff);
    free(p);
}

void
scheduler_loop_start(struct scheduler_loop *p, struct scheduler *scheduler)
{
    p->scheduler = scheduler;
    scheduler_start(scheduler);
    timer_repeat(p->tick, TICK_MS);
    timer_start(p->work, 0);
}

void
scheduler_loop_stop(struct scheduler_loop *p)
{
    p->scheduler = NULL;
    timer_stop(p->tick);
    timer_stop(p->work);
    timer_stop(p->backoff);
}

void
scheduler_loop_ready(void *context)
{
    struct scheduler_loop *p = context;

    if (p->scheduler != NULL && !timer_is_running(p->work))
        timer_start(p->work, 0);
}
