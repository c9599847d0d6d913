/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_pace.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"

#define SECOND_MS 1000

struct step_pace {
    struct loop *loop;
    struct fdwatch *watch;
    struct timer *timer; /* NULL: it was never too fast */
    int64_t paid_ms;     /* until when what has come would have been sent at the pace */
};

void
step_pace_free(struct step_pace *p)
{
    if (p == NULL)
        return;
    timer_free(p->timer);
    free(p);
}

struct step_pace *
step_pace_new(struct loop *loop, struct fdwatch *watch)
{
    struct step_pace *p = xnew(struct step_pace);

    p->loop = loop;
    p->watch = watch;
    return p;
}

static void
on_time(void *context)
{
    struct step_pace *p = context;

    fdwatch_want(p->watch, FDWATCH_READ);
}

/* The rest at the end of the connection is no more than the socket holds, and is read. */
void
step_pace_take(struct step_pace *p, size_t bytes)
{
    const int64_t now_ms = clock_monotonic_us(&clock_system) / 1000;
    const int64_t units = bytes > STEP_PACE_UNIT ? (int64_t)(bytes / STEP_PACE_UNIT) : 1;
    const int64_t earliest_ms = now_ms - (int64_t)STEP_PACE_BURST * SECOND_MS;

    if (p->paid_ms < earliest_ms)
        p->paid_ms = earliest_ms;
    p->paid_ms += units * SECOND_MS;
    if (p->paid_ms <= now_ms)
        return;
    if (p->timer == NULL)
        p->timer = timer_new(p->loop, on_time, p);
    fdwatch_want(p->watch, FDWATCH_END);
    timer_start(p->timer, p->paid_ms - now_ms);
}
