/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/stint.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/loop/timer.h"

#define TURN_US 1000

struct stints {
    struct list waiting; /* whose turn is next, first */
    struct timer *timer;
    bool is_finished;
};

static void
go_on(void *arg)
{
    struct stints *s = arg;
    int64_t until_us = clock_monotonic_us(&clock_system) + TURN_US;
    struct stint *stint = container_of(s->waiting.next, struct stint, link);
    bool more;

    list_remove(&stint->link);
    do
        more = stint->go(stint);
    while (more && clock_monotonic_us(&clock_system) < until_us);
    if (more)
        list_add_last(&s->waiting, &stint->link);
    if (!list_is_empty(&s->waiting))
        timer_start(s->timer, 0);
}

struct stints *
stints_new(struct loop *loop)
{
    struct stints *s = xnew(struct stints);

    list_init(&s->waiting);
    s->timer = timer_new(loop, go_on, s);
    return s;
}

void
stints_finish(struct stints *s)
{
    s->is_finished = true;
    timer_stop(s->timer);
    while (!list_is_empty(&s->waiting)) {
        struct stint *stint = container_of(s->waiting.next, struct stint, link);

        list_remove(&stint->link);
        while (stint->go(stint))
            continue;
    }
}

void
stints_free(struct stints *s)
{
    if (s == NULL)
        return;
    timer_free(s->timer);
    free(s);
}

void
stints_add(struct stints *s, struct stint *stint, stint_fn *go)
{
    stint->go = go;
    if (s->is_finished) {
        while (go(stint))
            continue;
        return;
    }
    if (list_is_empty(&s->waiting))
        timer_start(s->timer, 0);
    list_add_last(&s->waiting, &stint->link);
}

void
stints_remove(struct stints *s, struct stint *stint)
{
    list_remove(&stint->link);
    if (list_is_empty(&s->waiting))
        timer_stop(s->timer);
}
