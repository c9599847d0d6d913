/* SPDX-License-Identifier: Apache-2.0 */
/* Each key is worked on by one worker at a time and queued once, however many events come: a
 * burst for one object costs one pass, which sees the last state. A key that changes during
 * its pass is passed again. Failures wait, doubling, for each key by itself, so that one
 * object which always fails delays no other.
 *
 * Delays run on the monotonic clock. Loops whose times are of the real clock ask to follow it;
 * when it jumps, they look at all of their waiting keys again.
 */
#include "controller/lifecycle/reconcile/workqueue.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define FIRST_RETRY_MS 100
#define A_TURN         256u /* most keys that one turn of the loop starts */
#define LAST_RETRY_MS  60000
#define CHECK_CLOCK_MS 1000
#define CLOCK_JUMP_US  1000000 /* a clock that is adjusted slowly never moves that much in between */

/* A key in the queue. It is in `ready` (linked), in `delayed` (due_place),
 * being worked on (busy), or in several of these states.
 */
struct workqueue_entry {
    struct list link;
    size_t due_place;
    int64_t due_ms;
    int64_t retry_ms;
    bool busy;
    bool again;
    char key[];
};

struct workqueue {
    struct loop *loop;
    workqueue_work_fn *work;
    void *context;
    struct map *entries;
    struct list ready;
    struct heap *delayed;
    struct timer *timer;
    struct timer *kick; /* calls run_ready on the loop's next turn */
    struct clock *clock;
    struct timer *clock_check;
    int64_t clock_offset_us; /* real clock less monotonic clock */
    unsigned parallel;
    unsigned busy;
};

static bool
due_earlier(const void *a, const void *b, UNUSED void *context)
{
    const struct workqueue_entry *x = a, *y = b;

    return x->due_ms < y->due_ms;
}

static void
set_timer(struct workqueue *q)
{
    const struct workqueue_entry *first = heap_top(q->delayed);

    if (first == NULL)
        timer_stop(q->timer);
    else
        timer_start(q->timer, first->due_ms - loop_now_ms());
}

static void
make_ready(struct workqueue *q, struct workqueue_entry *e)
{
    if (!list_is_empty(&e->link))
        return;
    list_add_last(&q->ready, &e->link);
    if (!timer_is_running(q->kick))
        timer_start(q->kick, 0);
}

static void
forget_if_idle(struct workqueue *q, struct workqueue_entry *e)
{
    if (e->busy || !list_is_empty(&e->link) || e->due_place != HEAP_NOWHERE)
        return;
    map_remove(q->entries, e->key);
    free(e);
}

/* Much of the work ends within the call of `work`, so that `parallel` does not
 * bound one run; A_TURN does.
 */
static void
run_ready(void *arg)
{
    struct workqueue *q = arg;

    for (unsigned n = 0; q->busy < q->parallel && !list_is_empty(&q->ready); n++) {
        if (n == A_TURN) {
            if (!timer_is_running(q->kick))
                timer_start(q->kick, 0);
            return;
        }
        struct workqueue_entry *e = container_of(q->ready.next, struct workqueue_entry, link);

        list_remove(&e->link);
        e->busy = true;
        q->busy++;
        q->work(e->key, q->context);
    }
}

static void
run_due(struct workqueue *q, int64_t now_ms)
{
    struct workqueue_entry *e;

    while ((e = heap_top(q->delayed)) != NULL && e->due_ms <= now_ms) {
        heap_pop(q->delayed);
        if (e->busy)
            e->again = true;
        else
            make_ready(q, e);
    }
    set_timer(q);
}

static void
run_delayed(void *arg)
{
    run_due(arg, loop_now_ms());
}

static int64_t
clock_offset_us(const struct workqueue *q)
{
    return clock_real_us(q->clock) - clock_monotonic_us(q->clock);
}

/* Compared with the last check, and not with the start, so that the sum of many
 * small corrections is no jump.
 */
static void
check_clock(void *arg)
{
    struct workqueue *q = arg;
    const int64_t before_us = q->clock_offset_us;

    q->clock_offset_us = clock_offset_us(q);
    if (llabs(q->clock_offset_us - before_us) >= CLOCK_JUMP_US)
        run_due(q, INT64_MAX);
}

void
workqueue_follow_clock(struct workqueue *q, struct clock *clock)
{
    q->clock = clock;
    q->clock_offset_us = clock_offset_us(q);
    if (q->clock_check == NULL)
        q->clock_check = timer_new(q->loop, check_clock, q);
    timer_repeat(q->clock_check, CHECK_CLOCK_MS);
}

struct workqueue *
workqueue_new(struct loop *loop, unsigned parallel, workqueue_work_fn *work, void *context)
{
    struct workqueue *q = xnew(struct workqueue);

    q->loop = loop;
    q->work = work;
    q->context = context;
    q->parallel = parallel;
    q->entries = map_new();
    list_init(&q->ready);
    q->delayed = heap_new(due_earlier, NULL, offsetof(struct workqueue_entry, due_place));
    q->timer = timer_new(loop, run_delayed, q);
    q->kick = timer_new(loop, run_ready, q);
    return q;
}

void
workqueue_free(struct workqueue *q)
{
    size_t at = 0;
    void *e;

    if (q == NULL)
        return;
    while (map_next(q->entries, &at, NULL, &e))
        free(e);
    map_free(q->entries);
    heap_free(q->delayed);
    timer_free(q->timer);
    timer_free(q->kick);
    timer_free(q->clock_check);
    free(q);
}

static struct workqueue_entry *
entry_of(struct workqueue *q, const char *key)
{
    struct workqueue_entry *e = map_find(q->entries, key);
    size_t size = strlen(key) + 1;

    if (e != NULL)
        return e;
    e = xcalloc(1, sizeof(*e) + size);
    memcpy(e->key, key, size);
    list_init(&e->link);
    e->due_place = HEAP_NOWHERE;
    map_put(q->entries, key, e);
    return e;
}

void
workqueue_add(struct workqueue *q, const char *key)
{
    struct workqueue_entry *e = entry_of(q, key);

    if (e->busy)
        e->again = true;
    else
        make_ready(q, e);
}

void
workqueue_add_after(struct workqueue *q, const char *key, int64_t ms)
{
    struct workqueue_entry *e = entry_of(q, key);
    int64_t due = loop_now_ms() + ms;

    if (e->due_place == HEAP_NOWHERE) {
        e->due_ms = due;
        heap_push(q->delayed, e);
    } else if (due < e->due_ms) {
        e->due_ms = due;
        heap_moved(q->delayed, e);
    }
    set_timer(q);
}

void
workqueue_done(struct workqueue *q, const char *key, enum workqueue_result result)
{
    struct workqueue_entry *e = map_find(q->entries, key);

    if (e == NULL || !e->busy)
        return;
    e->busy = false;
    q->busy--;
    if (result == WORKQUEUE_FAILED) {
        e->retry_ms = backoff_next(e->retry_ms, FIRST_RETRY_MS, LAST_RETRY_MS);
        workqueue_add_after(q, e->key, e->retry_ms);
    } else {
        e->retry_ms = 0;
    }
    if (e->again)
        make_ready(q, e);
    e->again = false;
    forget_if_idle(q, e);
    if (!list_is_empty(&q->ready) && !timer_is_running(q->kick))
        timer_start(q->kick, 0);
}

size_t
workqueue_count(const struct workqueue *q)
{
    return map_count(q->entries);
}
