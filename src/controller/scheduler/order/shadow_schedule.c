/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest first lets long jobs wait without an end, and a fixed bound on the wait is wrong on
 * each cluster but one. The guard therefore compares with what would have happened without the
 * order: a job whose wait comes near the longest one of a plain backfill in the order of
 * submission goes first (start_order.h, decision 185). That schedule cannot be looked up, so
 * it is played along, on CPUs alone and in whole seconds: it gives one number, and an exact
 * one would cost a second scheduler.
 */
#include "controller/scheduler/order/shadow_schedule.h"

#include <stdlib.h>

#include "controller/scheduler/order/release_list.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"

/* A job that still runs is expected to run half as long again. */
#define STILL_RUNS 1.5

enum shadow_state {
    SHADOW_WAITING,
    SHADOW_RUNNING,
    SHADOW_DONE, /* here; it has not ended in reality */
};

struct shadow_job {
    struct shadow_facts facts;
    enum shadow_state state;
    bool has_begun, has_ended; /* in reality */
    int64_t begin_s, run_s;
    int64_t start_s; /* here */
    int64_t end_s;   /* here, as far as it is known */
    struct list link;
    size_t place;
    uint64_t number; /* of submission; decides between equals */
};

struct shadow_schedule {
    int64_t free_mcpu, machine_mcpu;
    struct list waiting; /* in the order of submission */
    struct list done;
    struct heap *running; /* by their ends here */
    struct release_list limits;
    bool is_unsorted;      /* `waiting`, after a restart */
    double ran, predicted; /* CPU seconds of all that really ended */
    int64_t now_s;         /* in reality */
    int64_t longest_s;
    size_t count;
    uint64_t n_submitted;
    bool is_stale; /* a job may be able to start now */
};

static bool
ends_before(const void *a, const void *b, void *context)
{
    const struct shadow_job *x = a, *y = b;

    (void)context;
    return x->end_s < y->end_s;
}

struct shadow_schedule *
shadow_schedule_new(void)
{
    struct shadow_schedule *s = xnew(struct shadow_schedule);

    list_init(&s->waiting);
    list_init(&s->done);
    s->running = heap_new(ends_before, NULL, offsetof(struct shadow_job, place));
    return s;
}

struct shadow_past
shadow_schedule_past(const struct shadow_schedule *s)
{
    return (struct shadow_past){
        .ran = s->ran,
        .predicted = s->predicted,
        .longest_s = s->longest_s,
    };
}

void
shadow_schedule_continue(struct shadow_schedule *s, const struct shadow_past *past)
{
    s->ran = past->ran;
    s->predicted = past->predicted;
    s->longest_s = past->longest_s;
}

static void
free_list(struct list *jobs)
{
    list_foreach_safe(link, jobs) free(container_of(link, struct shadow_job, link));
}

void
shadow_schedule_free(struct shadow_schedule *s)
{
    if (s == NULL)
        return;
    for (struct shadow_job *j; (j = heap_pop(s->running)) != NULL;)
        free(j);
    free_list(&s->waiting);
    free_list(&s->done);
    heap_free(s->running);
    release_list_fini(&s->limits);
    free(s);
}

void
shadow_schedule_set_machine(struct shadow_schedule *s, int64_t mcpu)
{
    s->free_mcpu += mcpu - s->machine_mcpu;
    s->machine_mcpu = mcpu;
    s->is_stale = true;
}

/* How long the job runs here, as far as it is known now. */
static int64_t
estimate_run(const struct shadow_schedule *s, const struct shadow_job *j)
{
    double run_s = j->facts.predicted_s, ran_s;

    if (j->has_ended)
        return j->run_s;
    if (s->predicted > 0)
        run_s *= s->ran / s->predicted;
    ran_s = j->has_begun ? (double)(s->now_s - j->begin_s) : 0;
    if (run_s < STILL_RUNS * ran_s)
        run_s = STILL_RUNS * ran_s;
    if (run_s > (double)j->facts.limit_s)
        run_s = (double)j->facts.limit_s;
    return run_s < 1 ? 1 : (int64_t)run_s;
}

void
shadow_schedule_note_wait(struct shadow_schedule *s, int64_t wait_s)
{
    if (wait_s > s->longest_s)
        s->longest_s = wait_s;
}

static void
note_wait(struct shadow_schedule *s, const struct shadow_job *j, int64_t at_s)
{
    shadow_schedule_note_wait(s, at_s - j->facts.submit_s);
}

static void
start(struct shadow_schedule *s, struct shadow_job *j, int64_t at_s)
{
    list_remove(&j->link);
    j->state = SHADOW_RUNNING;
    j->start_s = at_s;
    j->end_s = at_s + estimate_run(s, j);
    s->free_mcpu -= j->facts.mcpu;
    heap_push(s->running, j);
    release_list_add(&s->limits, at_s + j->facts.limit_s, j->facts.mcpu);
}

static void
finish(struct shadow_schedule *s, struct shadow_job *j)
{
    if (j->state == SHADOW_RUNNING) {
        s->free_mcpu += j->facts.mcpu;
        release_list_remove(&s->limits, j->start_s + j->facts.limit_s, j->facts.mcpu);
        s->is_stale = true;
    }
    j->state = SHADOW_DONE;
    if (j->has_ended) {
        list_remove(&j->link);
        s->count--;
        free(j);
    } else {
        list_remove(&j->link);
        list_add_last(&s->done, &j->link);
    }
}

static struct shadow_job *
first_waiting(const struct shadow_schedule *s)
{
    return list_is_empty(&s->waiting) ? NULL
                                      : container_of(s->waiting.next, struct shadow_job, link);
}

static struct shadow_job *
last_waiting(const struct shadow_schedule *s)
{
    return list_is_empty(&s->waiting) ? NULL
                                      : container_of(s->waiting.prev, struct shadow_job, link);
}

static int
compare(const void *a, const void *b)
{
    const struct shadow_job *x = *(struct shadow_job *const *)a;
    const struct shadow_job *y = *(struct shadow_job *const *)b;

    if (x->facts.submit_s != y->facts.submit_s)
        return x->facts.submit_s < y->facts.submit_s ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void
sort_waiting(struct shadow_schedule *s)
{
    CLEANUP_FREE struct shadow_job **jobs = xnew_array(struct shadow_job *, s->count + 1);
    size_t count = 0;

    list_foreach(link, &s->waiting) jobs[count++] = container_of(link, struct shadow_job, link);
    qsort(jobs, count, sizeof(struct shadow_job *), compare);
    list_init(&s->waiting);
    for (size_t i = 0; i < count; i++)
        list_add_last(&s->waiting, &jobs[i]->link);
    s->is_unsorted = false;
}

/* Starts all jobs that fit, in order. Returns the first that does not fit, and
 * when it will; drops jobs that never will.
 */
static struct shadow_job *
start_in_order(struct shadow_schedule *s, int64_t at_s, int64_t *ret_fits_s,
               int64_t *ret_extra_mcpu)
{
    struct shadow_job *j;

    while ((j = first_waiting(s)) != NULL) {
        int64_t given_mcpu;

        note_wait(s, j, at_s);
        if (j->facts.mcpu <= s->free_mcpu) {
            start(s, j, at_s);
            continue;
        }
        *ret_fits_s = release_list_find(&s->limits, j->facts.mcpu - s->free_mcpu, &given_mcpu);
        *ret_extra_mcpu = s->free_mcpu + given_mcpu - j->facts.mcpu;
        if (*ret_fits_s != RELEASE_NEVER)
            return j;
        finish(s, j);
    }
    return NULL;
}

static void
pass(struct shadow_schedule *s, int64_t at_s)
{
    int64_t fits_s, extra_mcpu;
    struct shadow_job *head;
    unsigned depth = 0;

    if (s->machine_mcpu <= 0)
        return; /* no node is known yet */
    if (s->is_unsorted)
        sort_waiting(s);
    head = start_in_order(s, at_s, &fits_s, &extra_mcpu);
    s->is_stale = false;
    if (head == NULL)
        return;
    list_foreach_safe(link, &s->waiting)
    {
        struct shadow_job *j = container_of(link, struct shadow_job, link);
        bool ends_before_it = at_s + j->facts.limit_s <= fits_s;

        if (s->free_mcpu <= 0 || depth++ > SHADOW_DEPTH)
            break;
        if (j == head)
            continue;
        if (j->facts.mcpu > s->free_mcpu || (!ends_before_it && j->facts.mcpu > extra_mcpu))
            continue;
        if (!ends_before_it)
            extra_mcpu -= j->facts.mcpu;
        note_wait(s, j, at_s);
        start(s, j, at_s);
    }
}

static struct shadow_job *
add(struct shadow_schedule *s, const struct shadow_facts *facts)
{
    struct shadow_job *j = xnew(struct shadow_job);
    const struct shadow_job *last = last_waiting(s);

    j->facts = *facts;
    j->place = HEAP_NOWHERE;
    j->number = s->n_submitted++;
    if (last != NULL && last->facts.submit_s > facts->submit_s)
        s->is_unsorted = true;
    list_add_last(&s->waiting, &j->link);
    s->count++;
    s->is_stale = true;
    return j;
}

/* False: no job ends by that second. */
static bool
end_next(struct shadow_schedule *s, int64_t now_s)
{
    struct shadow_job *j = heap_top(s->running);
    int64_t at_s;

    if (j == NULL || j->end_s > now_s)
        return false;
    at_s = j->end_s;
    while ((j = heap_top(s->running)) != NULL && j->end_s <= at_s) {
        int64_t end_s = j->start_s + estimate_run(s, j);

        if (end_s > at_s) { /* still running in reality */
            j->end_s = end_s;
            heap_moved(s->running, j);
        } else {
            heap_pop(s->running);
            finish(s, j);
        }
    }
    if (s->is_stale)
        pass(s, at_s);
    return true;
}

void
shadow_schedule_advance(struct shadow_schedule *s, int64_t now_s)
{
    if (now_s > s->now_s) {
        if (s->is_stale) /* one pass for all submissions of a second */
            pass(s, s->now_s);
        s->now_s = now_s;
    }
    while (end_next(s, now_s))
        continue;
}

struct shadow_job *
shadow_schedule_submit(struct shadow_schedule *s, const struct shadow_facts *facts)
{
    shadow_schedule_advance(s, facts->submit_s);
    return add(s, facts);
}

struct shadow_job *
shadow_schedule_adopt(struct shadow_schedule *s, const struct shadow_facts *facts, int64_t begin_s)
{
    struct shadow_job *j = add(s, facts);

    shadow_schedule_begin(j, begin_s);
    start(s, j, begin_s);
    return j;
}

void
shadow_schedule_begin(struct shadow_job *job, int64_t now_s)
{
    job->has_begun = true;
    job->begin_s = now_s;
}

/* A job that runs here ends as it did in reality. */
static void
set_known(struct shadow_schedule *s, struct shadow_job *job, int64_t run_s, int64_t now_s)
{
    job->has_ended = true;
    job->run_s = run_s;
    if (job->state == SHADOW_DONE) {
        finish(s, job);
    } else if (job->state == SHADOW_RUNNING) {
        job->end_s = job->start_s + run_s;
        if (job->end_s < now_s)
            job->end_s = now_s;
        heap_moved(s->running, job);
    }
}

void
shadow_schedule_end(struct shadow_schedule *s, struct shadow_job *job TAKES, int64_t run_s,
                    int64_t now_s)
{
    double cpus = (double)job->facts.mcpu;

    if (run_s < 1)
        run_s = 1;
    s->ran += cpus * (double)run_s;
    s->predicted += cpus * job->facts.predicted_s;
    set_known(s, job, run_s, now_s);
}

void
shadow_schedule_withdraw(struct shadow_schedule *s, struct shadow_job *job TAKES, int64_t now_s)
{
    bool is_waiting = job->state == SHADOW_WAITING;

    set_known(s, job, 1, now_s);
    if (is_waiting)
        finish(s, job);
}

void
shadow_schedule_settle(struct shadow_schedule *s, int64_t now_s)
{
    const struct shadow_job *first;

    shadow_schedule_advance(s, now_s);
    first = first_waiting(s);
    if (first != NULL)
        note_wait(s, first, now_s);
}

int64_t
shadow_schedule_longest_s(const struct shadow_schedule *s)
{
    return s->longest_s;
}
