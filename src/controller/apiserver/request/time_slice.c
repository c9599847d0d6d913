/* SPDX-License-Identifier: Apache-2.0 */
/* One loop serves everybody, so long work is cut by time and not by count: a list of large
 * objects and one of small ones then hold the loop equally long. Work goes round in turn, so
 * that a second long list does not wait for the first.
 */
#include "controller/apiserver/request/time_slice.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/timer.h"

#define TURN_US 1000

struct time_slices {
    struct list waiting; /* the next to run is first */
    struct timer *timer;
    bool is_finished;
};

static void
run_slices(void *arg)
{
    struct time_slices *s = arg;
    int64_t until_us = clock_monotonic_us(&clock_system) + TURN_US;
    struct time_slice *time_slice = container_of(s->waiting.next, struct time_slice, link);
    bool more;

    list_remove(&time_slice->link);
    do
        more = time_slice->go(time_slice);
    while (more && clock_monotonic_us(&clock_system) < until_us);
    if (more)
        list_add_last(&s->waiting, &time_slice->link);
    if (!list_is_empty(&s->waiting))
        timer_start(s->timer, 0);
}

struct time_slices *
time_slices_new(struct loop *loop)
{
    struct time_slices *s = xnew(struct time_slices);

    list_init(&s->waiting);
    s->timer = timer_new(loop, run_slices, s);
    return s;
}

void
time_slices_finish(struct time_slices *s)
{
    s->is_finished = true;
    timer_stop(s->timer);
    while (!list_is_empty(&s->waiting)) {
        struct time_slice *time_slice = container_of(s->waiting.next, struct time_slice, link);

        list_remove(&time_slice->link);
        while (time_slice->go(time_slice))
            continue;
    }
}

void
time_slices_free(struct time_slices *s)
{
    if (s == NULL)
        return;
    timer_free(s->timer);
    free(s);
}

void
time_slices_add(struct time_slices *s, struct time_slice *time_slice, time_slice_fn *go)
{
    time_slice->go = go;
    if (s->is_finished) {
        while (go(time_slice))
            continue;
        return;
    }
    if (list_is_empty(&s->waiting))
        timer_start(s->timer, 0);
    list_add_last(&s->waiting, &time_slice->link);
}

void
time_slices_remove(struct time_slices *s, struct time_slice *time_slice)
{
    list_remove(&time_slice->link);
    if (list_is_empty(&s->waiting))
        timer_stop(s->timer);
}
