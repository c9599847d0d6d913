/* SPDX-License-Identifier: Apache-2.0 */
/* A wait is observed when the Job starts, but an alarm is needed while it does not; so the
 * oldest wait of each partition is kept as well. The text of a partition is the user's: beyond
 * a thousand different ones the rest is one series, because a metrics server keeps every
 * series that it has ever seen.
 */
#include "controller/lifecycle/job_waits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/map.h"
#include "lib/base/metric.h"

#define MAX_PARTITIONS 1000
#define OTHERS         "(others)"
#define BOUNDS         12
#define SECOND_US      1e6

/* A Job that waits. */
struct waiting_job {
    size_t place;
    int64_t since_us;
    struct partition_waits *partition;
};

struct partition_waits {
    struct clock *clock;
    struct heap *waiting;
    _Atomic int64_t oldest_us; /* 0: none waits; read by the metrics */
    struct metric *oldest, *started;
};

struct job_waits {
    struct clock *clock;
    struct metric_family *oldest, *started;
    struct map *partitions; /* by name; they stay as long as this */
    struct map *waiters;    /* by the Job's uid */
};

static bool
began_before(const void *a, const void *b, void *context)
{
    const struct waiting_job *x = a, *y = b;

    (void)context;
    return x->since_us < y->since_us;
}

static double
read_oldest(void *context)
{
    struct partition_waits *p = context;
    const int64_t since_us = atomic_load(&p->oldest_us);
    const int64_t now_us = clock_real_us(p->clock);

    return since_us > 0 && now_us > since_us ? (double)(now_us - since_us) / SECOND_US : 0;
}

static struct partition_waits *
find_partition(struct job_waits *w, const struct job *job)
{
    const struct pod_spec *spec = job->spec.template_.spec;
    const char *name = spec != NULL ? pod_spec_partition(spec) : NULL;
    struct partition_waits *p;

    if (name == NULL || name[0] == '\0')
        name = PARTITION_ALL;
    p = map_find(w->partitions, name);
    if (p == NULL && map_count(w->partitions) >= MAX_PARTITIONS) {
        name = OTHERS;
        p = map_find(w->partitions, name);
    }
    if (p != NULL)
        return p;
    p = xnew(struct partition_waits);
    p->clock = w->clock;
    p->waiting = heap_new(began_before, NULL, offsetof(struct waiting_job, place));
    p->started = metric_series(w->started, name);
    p->oldest = metric_series(w->oldest, name);
    metric_read(p->oldest, read_oldest, p);
    map_put(w->partitions, name, p);
    return p;
}

static void
note_oldest(struct partition_waits *p)
{
    const struct waiting_job *first = heap_top(p->waiting);

    atomic_store(&p->oldest_us, first != NULL ? first->since_us : 0);
}

static bool
is_waiting(const struct object *job)
{
    const enum job_state state = job != NULL ? job_find_state(job_of(job)) : JOB_STATE_NONE;

    return state == JOB_STATE_PENDING || state == JOB_STATE_REQUEUED;
}

static void
add(struct job_waits *w, const struct object *job)
{
    struct waiting_job *waiter = map_find(w->waiters, job->meta->uid);
    struct partition_waits *p = find_partition(w, job_of(job));
    const int64_t since_us = job_eligible_at_us(job_of(job));

    if (waiter != NULL && waiter->partition == p && waiter->since_us == since_us)
        return;
    if (waiter != NULL) {
        heap_remove(waiter->partition->waiting, waiter);
        note_oldest(waiter->partition);
    } else {
        waiter = xnew(struct waiting_job);
        waiter->place = HEAP_NOWHERE;
        map_put(w->waiters, job->meta->uid, waiter);
    }
    waiter->since_us = since_us;
    waiter->partition = p;
    heap_push(p->waiting, waiter);
    note_oldest(p);
}

static void
drop(struct job_waits *w, const struct object *job)
{
    struct waiting_job *waiter = map_remove(w->waiters, job->meta->uid);

    if (waiter == NULL)
        return;
    heap_remove(waiter->partition->waiting, waiter);
    note_oldest(waiter->partition);
    free(waiter);
}

/* When the Job started, if it has; a short one may have ended by now. */
static int64_t
start_of(const struct job_waits *w, const struct job *job)
{
    const enum job_state state = job_find_state(job);
    const struct job_run *run = job->status.last_run;

    if (run != NULL && run->started_at_us > 0)
        return run->started_at_us;
    return state == JOB_STATE_HELD || job_state_is_ended(state) ? 0 : clock_real_us(w->clock);
}

/* A Job that was requeued has waited before, so only the first start counts. */
static void
observe_start(struct job_waits *w, const struct job *was, const struct job *is)
{
    const int64_t since_us = job_eligible_at_us(is);
    const int64_t start_us = start_of(w, is);

    if (job_find_state(was) != JOB_STATE_PENDING || start_us == 0)
        return;
    metric_observe(find_partition(w, is)->started,
                   start_us > since_us ? (double)(start_us - since_us) / SECOND_US : 0);
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_waits *w = context;

    if (is_waiting(new_object)) {
        add(w, new_object);
        return;
    }
    drop(w, new_object != NULL ? new_object : old_object);
    if (old_object != NULL && new_object != NULL && is_waiting(old_object))
        observe_start(w, job_of(old_object), job_of(new_object));
}

struct job_waits *
job_waits_new(struct object_cache *cache, struct clock *clock, struct metric_registry *registry)
{
    struct job_waits *w = xnew(struct job_waits);
    double bounds[BOUNDS];

    metric_exponential_bounds(1, 4, bounds, BOUNDS); /* up to 48 days */
    w->clock = clock;
    w->started =
        metric_histogram(registry, "kiln_job_wait_seconds",
                         "How long Jobs waited until they started.", "partition", bounds, BOUNDS);
    w->oldest =
        metric_gauge(registry, "kiln_job_oldest_wait_seconds",
                     "How long the Job has waited that waits longest; 0: none waits.", "partition");
    w->partitions = map_new();
    w->waiters = map_new();
    object_cache_listen(cache, &job_kind, on_job, w);
    return w;
}

void
job_waits_free(struct job_waits *w)
{
    size_t at = 0;
    void *value;

    if (w == NULL)
        return;
    while (map_next(w->partitions, &at, NULL, &value)) {
        struct partition_waits *p = value;

        metric_read(p->oldest, NULL, NULL);
        heap_free(p->waiting);
        free(p);
    }
    at = 0;
    while (map_next(w->waiters, &at, NULL, &value))
        free(value);
    map_free(w->partitions);
    map_free(w->waiters);
    free(w);
}
