/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_memory.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/job/removed_counts.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"

/* How long a status that changes only counts is delayed: a second, and one more
 * second for each COUNTS_A_SECOND jobs that are delayed, since in a burst of
 * short jobs most end before the write.
 */
#define COUNTS_DELAY_US   INT64_C(1000000)
#define COUNTS_A_SECOND   200u
#define MOST_COUNTS_DELAY 10

struct job_memories {
    struct object_cache *cache;
    struct clock *clock;
    struct workqueue *queue;
    struct map *by_key;
    size_t n_put_off; /* entries of by_key whose counts wait to be written */
};

static void
free_memory(struct job_memory *m)
{
    job_pod_counts_free(m->counts);
    free(m);
}

void
job_memories_forget(struct job_memories *memories, const char *key)
{
    struct job_memory *m = map_remove(memories->by_key, key);

    if (m == NULL)
        return;
    memories->n_put_off -= m->counts_due_us != 0;
    free_memory(m);
}

struct recount {
    struct job_pod_counts *counts;
    const struct job *job;
};

static void
recount_pod(const struct object *object, void *context)
{
    struct recount *r = context;

    job_pod_counts_see(r->counts, r->job, pod_of(object));
}

void
job_memories_recount(struct job_memories *memories, const struct job *job,
                     struct job_pod_counts *counts)
{
    struct recount r = {.counts = counts, .job = job};

    object_cache_visit_owned(memories->cache, job->meta.uid, recount_pod, &r);
}

struct job_pod_counts *
job_memories_count(struct job_memories *memories, const struct job *job, const struct object *gone)
{
    struct job_pod_counts *counts = job_pod_counts_new(job);

    job_memories_recount(memories, job, counts);
    if (gone != NULL)
        job_pod_counts_see(counts, job, pod_of(gone));
    removed_counts_see(counts, job);
    job_pod_counts_settle(counts, job);
    return counts;
}

struct job_memory *
job_memories_find(struct job_memories *memories, const char *key, const struct job *job)
{
    struct job_memory *m = map_find(memories->by_key, key);

    if (m == NULL || strcmp(m->counts->job_uid, job->meta.uid) == 0)
        return m;
    job_memories_forget(memories, key);
    return NULL;
}

struct job_memory *
job_memories_remember(struct job_memories *memories, const char *key,
                      struct job_pod_counts *counts TAKES)
{
    struct job_memory *m = xnew(struct job_memory);

    m->counts = counts;
    map_put(memories->by_key, key, m);
    return m;
}

struct job_memory *
job_memories_get(struct job_memories *memories, const char *key, const struct job *job)
{
    struct job_memory *m = job_memories_find(memories, key, job);

    if (m == NULL && job_is_array(job)) /* elements are read first */
        return job_memories_remember(memories, key, job_pod_counts_new(job));
    return m != NULL
               ? m
               : job_memories_remember(memories, key, job_memories_count(memories, job, NULL));
}

void
job_memories_forget_quiet(struct job_memories *memories, const char *key, const struct job *job,
                          const struct job_plan *plan)
{
    const struct job_memory *m = map_find(memories->by_key, key);

    if (job_completions(job) == 1 && !job_is_work_queue(job) && !job_is_array(job)
        && plan->status == NULL && plan->n_create == 0 && m->counts_due_us == 0 && m->is_updated
        && m->counts->n_expected == 0 && m->counts->refusals == 0 && m->counts->refusal == NULL)
        job_memories_forget(memories, key);
}

static void
put_off(struct job_memories *memories, struct job_memory *m, int64_t now_us)
{
    size_t seconds = ++memories->n_put_off / COUNTS_A_SECOND;

    if (seconds < 1)
        seconds = 1;
    if (seconds > MOST_COUNTS_DELAY)
        seconds = MOST_COUNTS_DELAY;
    m->counts_due_us = now_us + (int64_t)seconds * COUNTS_DELAY_US;
}

static void
stop_putting_off(struct job_memories *memories, struct job_memory *m)
{
    memories->n_put_off -= m->counts_due_us != 0;
    m->counts_due_us = 0;
}

bool
job_memories_put_off_status(struct job_memories *memories, const char *key, struct job_memory *m,
                            const struct job_plan *plan)
{
    int64_t now = clock_monotonic_us(memories->clock);

    if (plan->status == NULL || plan->status_is_urgent) {
        stop_putting_off(memories, m);
        return false;
    }
    if (m->counts_due_us == 0)
        put_off(memories, m, now);
    if (now >= m->counts_due_us) {
        stop_putting_off(memories, m);
        return false;
    }
    workqueue_add_after(memories->queue, key, (m->counts_due_us - now) / 1000 + 1);
    return true;
}

struct job_memory *
job_memories_peek(const struct job_memories *memories, const char *key)
{
    return map_find(memories->by_key, key);
}

bool
job_memories_next(const struct job_memories *memories, size_t *at, const char **ret_key,
                  struct job_memory **ret_memory)
{
    void *value;

    if (!map_next(memories->by_key, at, ret_key, &value))
        return false;
    *ret_memory = value;
    return true;
}

struct job_memories *
job_memories_new(struct object_cache *cache, struct clock *clock, struct workqueue *queue)
{
    struct job_memories *memories = xnew(struct job_memories);

    memories->cache = cache;
    memories->clock = clock;
    memories->queue = queue;
    memories->by_key = map_new();
    return memories;
}

void
job_memories_free(struct job_memories *memories)
{
    size_t at = 0;
    void *m;

    if (memories == NULL)
        return;
    while (map_next(memories->by_key, &at, NULL, &m))
        free_memory(m);
    map_free(memories->by_key);
    free(memories);
}
