/* SPDX-License-Identifier: Apache-2.0 */
/* A heap needs keys that stand still, while a prediction moves with each job that ends. So the
 * jobs of one user, limit and size share a rank, whose key is computed again only while none
 * of them is active. Ranks of pods that sleep may be old; scheduler.c has them computed again
 * in turn.
 *
 * Nothing is stored. After a restart, the ended pods that the API still has are learned in the
 * order of their ends, which gives nearly the same means, and a prediction that is a little
 * off only orders jobs.
 */
#include "controller/scheduler/order/pod_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/scheduler/framework/amounts.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/order/start_order.h"
#include "controller/scheduler/queue/queued_group.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"

#define SECOND_US 1000000

/* The jobs of one user, limit and size. */
struct rank_kind {
    char *text;
    uint32_t number;
    unsigned n_jobs;
    unsigned n_active; /* now active in the queue */
    double key;
    int64_t guarded_until_us; /* submission of the last guarded job */
};

struct ranked_job {
    struct order_job *job;
    struct rank_kind *kind;
    unsigned n_pods;
    bool has_begun;
};

struct past_run {
    struct order_facts facts;
    int64_t begin_us, ended_us;
    int64_t still_us; /* of that, how long it was frozen */
};

struct pod_ranks {
    struct clock *clock;
    struct start_order *order;
    struct map *kinds; /* by their text */
    struct map *jobs;  /* by the keys of their pods */
    uint32_t last_number;
    uint32_t *free_numbers; /* of dropped kinds, so that numbers stay small */
    size_t n_free, free_capacity;
    int64_t machine_mcpu;
    bool has_started;
    bool is_stale;         /* ranks that were given may differ now */
    struct past_run *past; /* until the start */
    size_t n_past, past_capacity;
};

static struct pod_ranks *
ranks_new(struct clock *clock, struct start_order *order)
{
    struct pod_ranks *r = xnew(struct pod_ranks);

    r->clock = clock;
    r->order = order;
    r->kinds = map_new();
    r->jobs = map_new();
    return r;
}

struct pod_ranks *
pod_ranks_new(struct clock *clock)
{
    return ranks_new(clock, start_order_new());
}

struct pod_ranks *
pod_ranks_new_after(struct clock *clock, const struct order_memory *memory)
{
    return ranks_new(clock, start_order_new_after(memory));
}

static void
drop_kind(struct pod_ranks *r, struct rank_kind *kind)
{
    if (kind->n_jobs > 0 || kind->n_active > 0)
        return;
    map_remove(r->kinds, kind->text);
    xgrow(r->free_numbers, r->n_free, r->free_capacity);
    r->free_numbers[r->n_free++] = kind->number;
    free(kind->text);
    free(kind);
}

static void
drop_pod(struct pod_ranks *r, const char *key, struct ranked_job *job)
{
    map_remove(r->jobs, key);
    if (--job->n_pods > 0)
        return;
    job->kind->n_jobs--;
    drop_kind(r, job->kind);
    free(job);
}

void
pod_ranks_free(struct pod_ranks *r)
{
    size_t at = 0;
    const char *key;
    void *value;

    if (r == NULL)
        return;
    while (map_next(r->jobs, &at, &key, &value)) {
        struct ranked_job *job = value;

        if (--job->n_pods == 0)
            free(job);
    }
    at = 0;
    while (map_next(r->kinds, &at, NULL, &value)) {
        struct rank_kind *kind = value;

        free(kind->text);
        free(kind);
    }
    map_free(r->jobs);
    map_free(r->kinds);
    start_order_free(r->order);
    free(r->past);
    free(r->free_numbers);
    free(r);
}

static int64_t
now_s(const struct pod_ranks *r)
{
    return clock_real_us(r->clock) / SECOND_US;
}

static struct order_facts
facts_of(const struct pod_view *pod)
{
    const int64_t *limit_s = pod->pod->spec.active_deadline_seconds;

    return (struct order_facts){
        .user = pod->owner,
        .limit_s = limit_s != NULL ? *limit_s : 0,
        .mcpu = pod->requests.cpu_milli,
        .submit_s = pod->eligible_at_us / SECOND_US,
    };
}

static struct rank_kind *
find_kind(struct pod_ranks *r, const struct order_facts *facts)
{
    char text[80];
    struct rank_kind *kind;

    snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %" PRId64, facts->user, facts->limit_s,
             facts->mcpu);
    kind = map_find(r->kinds, text);
    if (kind != NULL)
        return kind;
    kind = xnew(struct rank_kind);
    kind->text = xstrdup(text);
    kind->guarded_until_us = INT64_MIN;
    kind->number = r->n_free > 0 ? r->free_numbers[--r->n_free] : ++r->last_number;
    map_put(r->kinds, kind->text, kind);
    return kind;
}

static struct ranked_job *
job_new(struct pod_ranks *r, const struct order_facts *facts)
{
    struct ranked_job *job = xnew(struct ranked_job);

    job->kind = find_kind(r, facts);
    job->kind->n_jobs++;
    return job;
}

static const char *
key_of(const struct pod_view *pod, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return out;
}

static struct ranked_job *
find_job(const struct pod_ranks *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];

    return map_find(r->jobs, key_of(pod, key));
}

/* The job no longer waits. For a group: none of its members waits as a member
 * of it.
 */
static void
withdraw(struct pod_ranks *r, struct ranked_job *job, int64_t still_us)
{
    if (job->job == NULL)
        return;
    start_order_end(r->order, job->job, still_us / SECOND_US, now_s(r));
    job->job = NULL;
    r->is_stale = true;
}

static void
add_pod(struct pod_ranks *r, const char *key, struct ranked_job *job)
{
    struct ranked_job *before = map_find(r->jobs, key);

    if (before != NULL) {
        withdraw(r, before, 0);
        drop_pod(r, key, before);
    }
    map_put(r->jobs, key, job);
    job->n_pods++;
}

static struct ranked_job *
submit(struct pod_ranks *r, const struct queued_pod *queued)
{
    const struct queued_group *g = queued->queued_group;
    struct order_facts facts = facts_of(queued->pod);
    struct ranked_job *job;

    for (uint32_t i = 0; g != NULL && i < g->count; i++)
        if (g->members[i] != queued)
            facts.mcpu += g->members[i]->pod->requests.cpu_milli;
    job = job_new(r, &facts);
    job->job = start_order_submit(r->order, &facts);
    if (g == NULL)
        add_pod(r, queued->key, job);
    for (uint32_t i = 0; g != NULL && i < g->count; i++)
        add_pod(r, g->members[i]->key, job);
    return job;
}

/* NULL if a group has not as many pods now as when it was submitted. */
static struct ranked_job *
find_waiting(const struct pod_ranks *r, const struct queued_pod *queued)
{
    struct ranked_job *job = map_find(r->jobs, queued->key);
    unsigned count = queued->queued_group != NULL ? queued->queued_group->count : 1;

    return job != NULL && job->job != NULL && job->n_pods == count ? job : NULL;
}

/* Jobs are ranked at different times, and in between the time until there is
 * room may get shorter. So all equal jobs that were submitted before a guarded
 * one are guarded, too.
 */
struct queue_rank
pod_ranks_rank(struct pod_ranks *r, const struct queued_pod *queued)
{
    struct ranked_job *job = find_waiting(r, queued);
    struct order_rank rank;

    if (job == NULL)
        job = submit(r, queued);
    rank = start_order_rank(r->order, job->job, now_s(r));
    if (rank.is_guarded && queued->pod->eligible_at_us > job->kind->guarded_until_us)
        job->kind->guarded_until_us = queued->pod->eligible_at_us;
    if (job->kind->n_active++ == 0)
        job->kind->key = rank.key;
    return (struct queue_rank){
        .kind = job->kind,
        .number = job->kind->number,
        .is_guarded = queued->pod->eligible_at_us <= job->kind->guarded_until_us,
        .key = job->kind->key,
    };
}

bool
pod_ranks_take_stale(struct pod_ranks *r)
{
    bool was_stale = r->is_stale;

    r->is_stale = false;
    return was_stale;
}

void
pod_ranks_unrank(struct pod_ranks *r, const struct queued_pod *queued)
{
    struct rank_kind *kind = queued->rank.kind;

    kind->n_active--;
    drop_kind(r, kind);
}

double
pod_ranks_predict_s(const struct pod_ranks *r, const struct queued_pod *queued,
                    bool *ret_is_guarded)
{
    const struct ranked_job *job = find_waiting(r, queued);

    return job != NULL ? start_order_predict_s(r->order, job->job, ret_is_guarded) : 0;
}

struct order_memory *
pod_ranks_remember(const struct pod_ranks *r)
{
    return order_memory_new(r->order);
}

/* A simulation sees a running pod as a job of its own, even if it came with a
 * group.
 */
double
pod_ranks_remember_pod(const struct pod_ranks *r, struct order_memory *memory,
                       const struct pod_view *pod)
{
    const struct ranked_job *job = find_job(r, pod);
    struct order_facts facts = facts_of(pod);
    double run_s = order_memory_add(memory, r->order, &facts);

    if (job == NULL || job->job == NULL)
        return run_s;
    return order_memory_add(memory, r->order, start_order_facts(job->job));
}

/* ---- The cluster ---- */

static int64_t
mcpu_of(const struct object *node)
{
    const char *cpus =
        node != NULL ? string_map_find(&node_of(node)->status.allocatable, "cpu") : NULL;

    return cpus != NULL ? quantity_text_milli(cpus) : 0;
}

void
pod_ranks_node_changed(struct pod_ranks *r, const struct object *old_object,
                       const struct object *new_object)
{
    int64_t more_mcpu = mcpu_of(new_object) - mcpu_of(old_object);

    if (more_mcpu == 0)
        return;
    r->machine_mcpu += more_mcpu;
    if (r->has_started)
        start_order_set_machine(r->order, r->machine_mcpu);
}

/* For a pod that runs already: the scheduler has just started, or another
 * program bound the pod.
 */
static void
adopt(struct pod_ranks *r, const struct pod_view *pod)
{
    struct order_facts facts = facts_of(pod);
    struct ranked_job *job = job_new(r, &facts);
    int64_t begin_us = pod_view_start_us(pod);
    char key[OBJECT_KEY_SIZE];

    if (begin_us == INT64_MAX)
        begin_us = clock_real_us(r->clock);
    job->has_begun = true;
    job->job = start_order_adopt(r->order, &facts, begin_us / SECOND_US);
    add_pod(r, key_of(pod, key), job);
}

void
pod_ranks_pod_bound(struct pod_ranks *r, const struct pod_view *pod)
{
    struct ranked_job *job = find_job(r, pod);

    if (job == NULL || job->job == NULL) {
        adopt(r, pod);
    } else if (!job->has_begun) {
        job->has_begun = true;
        start_order_begin(r->order, job->job, now_s(r));
    }
}

void
pod_ranks_pod_gone(struct pod_ranks *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct ranked_job *job = map_find(r->jobs, key_of(pod, key));
    const int64_t still_us = pod_frozen_us(pod->pod, clock_real_us(r->clock));

    if (job == NULL)
        return;
    withdraw(r, job, still_us); /* a group ends with its first pod */
    drop_pod(r, key, job);
}

void
pod_ranks_pod_ended(struct pod_ranks *r, const struct pod_view *pod)
{
    struct container_state state;

    if (r->has_started || !pod_main_state(pod->pod, &state) || !state.terminated
        || state.started_at_us <= 0)
        return;
    xgrow(r->past, r->n_past, r->past_capacity);
    r->past[r->n_past++] = (struct past_run){
        .facts = facts_of(pod),
        .begin_us = state.started_at_us,
        .ended_us = state.finished_at_us,
        .still_us = pod_frozen_us(pod->pod, state.finished_at_us),
    };
}

static int
compare_ends(const void *a, const void *b)
{
    const struct past_run *x = a, *y = b;

    return (x->ended_us > y->ended_us) - (x->ended_us < y->ended_us);
}

/* The newest run counts most, so the oldest is learned first. */
void
pod_ranks_start(struct pod_ranks *r)
{
    r->has_started = true;
    if (r->n_past > 1)
        qsort(r->past, r->n_past, sizeof(*r->past), compare_ends);
    for (size_t i = 0; i < r->n_past; i++) {
        const struct past_run *past = &r->past[i];
        int64_t run_us = past->ended_us - past->begin_us - past->still_us;

        start_order_learn(r->order, &past->facts, past->begin_us / SECOND_US,
                          run_us > 0 ? run_us / SECOND_US : 0);
    }
    free(r->past);
    r->past = NULL;
    r->n_past = r->past_capacity = 0;
    start_order_set_machine(r->order, r->machine_mcpu);
}
