/* SPDX-License-Identifier: Apache-2.0 */
/* A sync asks job_plan.c, which is pure, what the Job needs now, and carries it out; it never
 * acts on an event itself. So events may be lost, doubled or out of order, and a restart is a
 * sync of every Job. The cache lags behind the calls, which is why created pods are expected
 * by number until they are seen: without that, a second sync would create them again. One that
 * is never seen, because it came and went while the watch was down, stops being expected after
 * a minute.
 *
 * A Job of which the store cannot read a pod gets no new ones: the program of that pod may be
 * running.
 */
#include "controller/lifecycle/job/job_controller.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/job/array_calls.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/array_sync.h"
#include "controller/lifecycle/job/job_group.h"
#include "controller/lifecycle/job/job_log.h"
#include "controller/lifecycle/job/job_memory.h"
#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_report.h"
#include "controller/lifecycle/job/job_sync.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/job/pod_marks.h"
#include "controller/lifecycle/job/pod_sight.h"
#include "controller/lifecycle/job/quota_waiters.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/api/policy/priority_class.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/timer.h"

#define PARALLEL_JOBS      256u
#define PODS_AT_A_TIME     64u
#define ELEMENTS_AT_A_TIME 256u
#define EXPECT_FOR_US      (60 * INT64_C(1000000))
#define OVERDUE_MS         1000

struct job_controller {
    struct object_cache *cache;
    struct clock *clock;
    struct event_recorder *event_recorder;
    struct workqueue *queue;
    struct job_sync_settings sync;
    struct dependencies *dependencies;
    struct array_sync *arrays;
    bool holds_never_satisfied;
    int64_t maximum_requeues;
    int64_t default_priority;
    struct job_memories *memories;
    struct quota_waiters *waiters;
    struct timer *overdue;
};

/* ---- How often a job may start again ---- */

static const struct object *
find_partition(void *owner, const char *kind, const char *name)
{
    (void)kind;
    return object_cache_find(owner, &partition_kind, NULL, name);
}

/* The site's limit or that of the partition, whichever is lower. */
static int64_t
maximum_requeues_of(const struct job_controller *c, const struct job *job)
{
    const struct pod_spec *spec = job->spec.template_.spec;
    const int64_t of_partition = spec != NULL ? partition_maximum_requeues(pod_spec_partition(spec),
                                                                           find_partition, c->cache)
                                              : 0;

    return c->maximum_requeues == 0 || (of_partition > 0 && of_partition < c->maximum_requeues)
               ? of_partition
               : c->maximum_requeues;
}

/* ---- A sync ---- */

/* A Job that waits for a quota is synced once more, only to write its cause. */
static bool
waits_for_quota(struct job_controller *c, const struct object *job, const char *key,
                const char *words, bool is_update, bool *ret_is_new)
{
    if (!quota_waiters_refuse(c->waiters, job, words, is_update, ret_is_new)) {
        quota_waiters_remove(c->waiters, key);
        return false;
    }
    workqueue_add(c->queue, key);
    return true;
}

static bool
on_refused(const struct object *job, int64_t index, int64_t attempt, const char *words,
           bool *ret_is_new, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];
    struct job_memory *m;

    object_key(job, key);
    m = job_memories_peek(c->memories, key);
    if (m == NULL)
        return false;
    job_pod_counts_refuse(m->counts, index, attempt, words);
    return waits_for_quota(c, job, key, words, false, ret_is_new);
}

static bool
on_updated(const struct object *job, const char *refusal, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];
    struct job_memory *m;
    bool is_new;

    object_key(job, key);
    m = job_memories_peek(c->memories, key);
    if (m == NULL || (refusal == NULL && m->counts->refusal == NULL))
        return false;
    job_pod_counts_set_refusal(m->counts, refusal);
    return refusal != NULL && waits_for_quota(c, job, key, refusal, true, &is_new);
}

static void
on_pass_done(const struct object *job, bool has_failed, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    workqueue_done(c->queue, key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
}

static void
create_pods(struct job_controller *c, struct job_sync *sync, struct job_pod_counts *counts,
            const struct job_plan *plan)
{
    int64_t until_us = clock_monotonic_us(c->clock) + EXPECT_FOR_US;

    if (plan->n_create > 0 && !timer_is_running(c->overdue))
        timer_start(c->overdue, OVERDUE_MS);
    if (plan->n_create > 0 && counts->began_us == 0)
        counts->began_us = clock_real_us(c->clock);
    for (unsigned i = 0; i < plan->n_create; i++) {
        const struct job_plan_pod *pod = &plan->create[i];

        job_pod_counts_expect(counts, pod->index, pod->attempt, until_us);
        if (counts->array == NULL && !counts->indexes.is_whole)
            job_sync_create(sync, pod);
    }
    if (plan->n_create == 0)
        return;
    if (counts->array != NULL)
        array_calls_make(sync, plan->create, plan->n_create);
    else if (counts->indexes.is_whole)
        job_group_make_attempt(sync, c->cache, plan->create, plan->n_create);
}

/* After an update of the Job all pods are checked once, and again when a pod
 * appears that was made from the Job before the update.
 */
static void
update_pods(struct job_sync *sync, struct job_memory *m, const struct object *job)
{
    if (!m->is_updated && string_map_find(&job->meta->annotations, ANNOTATION_UPDATE) != NULL)
        m->is_updated = job_sync_update_pods(sync, PODS_AT_A_TIME) == 0;
    else
        m->is_updated = true;
}

/* The job is held or waits for something else, so another job may take its
 * place in the quota's queue.
 */
static bool
asks_nothing(const struct job_memory *m, const struct job_plan *plan)
{
    return plan->n_create == 0 && m->counts->n_expected == 0
           && (plan->delete_active || m->is_updated);
}

/* A pod that was created and deleted while the watch was interrupted is never
 * seen, and no other event may come for its job.
 */
static void
find_overdue(void *context)
{
    struct job_controller *c = context;
    int64_t now_us = clock_monotonic_us(c->clock);
    bool is_any_expected = false;
    const char *key;
    size_t at = 0;
    struct job_memory *m;

    while (job_memories_next(c->memories, &at, &key, &m)) {
        is_any_expected = is_any_expected || m->counts->n_expected > 0;
        if (job_pod_counts_is_overdue(m->counts, now_us))
            workqueue_add(c->queue, key);
    }
    if (is_any_expected)
        timer_start(c->overdue, OVERDUE_MS);
}

/* spec.managedBy names another controller. */
static bool
is_anothers(const struct job *job)
{
    const char *by = job->spec.managed_by;

    return by != NULL && strcmp(by, MANAGED_BY_KILN) != 0;
}

/* Whether the store cannot read one of its pods. The state of that pod is
 * unknown, so the job gets no new pods: its program could run twice.
 */
static bool
has_damaged_pods(const struct job_controller *c, const struct object *job)
{
    if (!object_cache_is_damaged(c->cache, NULL, NULL, NULL, job->meta->uid))
        return false;
    log_warning("job '%s/%s' is not processed: a part of it cannot be read "
                "from the store (--check-store in kiln-controller(8))",
                job->meta->namespace, job->meta->name);
    return true;
}

/* A job that has made a pod waits for no other job, even if its status does not
 * say so yet.
 */
static void
judge_dependencies(struct job_controller *c, struct job_memory *m, const struct object *job,
                   struct arena *arena, struct dependency_answer *answer)
{
    m->counts->waits_for = NULL;
    if (!job_waits_for_others(job_of(job)) || m->counts->made > 0 || m->counts->n_expected > 0)
        return;
    dependencies_judge(c->dependencies, job, arena, answer);
    answer->is_held_for_good = c->holds_never_satisfied;
    m->counts->waits_for = answer;
}

static void
work_on_job(const char *key, void *context)
{
    struct job_controller *c = context;
    const struct object *job = object_cache_find_key(c->cache, &job_kind, key);
    struct arena *arena;
    struct job_memory *m;
    struct job_sync *sync;
    struct dependency_answer answer;
    int64_t wake_after_us;
    struct job_plan plan;

    if (job == NULL || job->meta->deleted_at_us != 0 || job_is_finished(job_of(job))
        || is_anothers(job_of(job)) || has_damaged_pods(c, job)) {
        job_memories_forget(c->memories, key);
        quota_waiters_remove(c->waiters, key);
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    m = job_memories_get(c->memories, key, job_of(job));
    m->counts->maximum_requeues = maximum_requeues_of(c, job_of(job));
    if (!array_sync_knows_elements(c->arrays, m, job)) {
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    if (m->counts->array != NULL) {
        array_state_follow(m->counts->array, job_of(job));
        array_state_note_settled(m->counts->array, &m->counts->indexes.done);
        array_state_set_window(m->counts->array, clock_monotonic_us(c->clock));
    }
    job_pod_counts_expire(m->counts, clock_monotonic_us(c->clock));
    if (job_of(job)->spec.suspend)
        m->counts->began_us = 0; /* it begins again when it is resumed */
    arena = arena_new(0);
    judge_dependencies(c, m, job, arena, &answer);
    wake_after_us = array_sync_see_gate(c->arrays, m, job);
    job_plan(job_of(job), m->counts, clock_real_us(c->clock),
             m->counts->array != NULL ? ELEMENTS_AT_A_TIME : PODS_AT_A_TIME, arena, &plan);
    m->counts->waits_for = NULL;
    if (m->counts->array != NULL)
        array_state_set_gate(m->counts->array, NULL);
    if (wake_after_us > 0)
        workqueue_add_after(c->queue, key, wake_after_us / 1000 + 1);
    if (job_memories_put_off_status(c->memories, key, m, &plan))
        plan.status = NULL;

    sync = job_sync_begin(&c->sync, job);
    if (!plan.delete_active && !plan.end_rest)
        job_group_sync(sync, c->cache, m->counts);
    if (!quota_waiters_holds_back(c->waiters, key, false))
        create_pods(c, sync, m->counts, &plan);
    if (plan.delete_active)
        job_sync_delete_active(sync);
    else if (plan.end_rest)
        job_sync_end_rest(sync, plan.excuse_rest);
    else if (!quota_waiters_holds_back(c->waiters, key, true))
        update_pods(sync, m, job);
    if (asks_nothing(m, &plan))
        quota_waiters_remove(c->waiters, key);
    if (plan.n_remove > 0)
        job_sync_remove_pods(sync, plan.n_remove);
    array_sync_visit_pods(c->arrays, sync, m->counts, plan.n_withdraw);
    array_sync_settle(c->arrays, key, m, job);
    if (plan.hold_waiting || plan.release_waiting)
        pod_marks_hold_waiting(sync, plan.hold_waiting);
    if (plan.mark_placed)
        pod_marks_freeze_placed(sync);
    if (plan.wake_after_us > 0)
        workqueue_add_after(c->queue, key, plan.wake_after_us / 1000 + 1);
    if (plan.status != NULL)
        job_sync_write(sync, arena, plan.status, &plan.event);
    else
        arena_free(arena);
    job_memories_forget_quiet(c->memories, key, job_of(job), &plan);
    job_sync_end(sync);
}

/* ---- Events ---- */

static void
note_update(struct job_controller *c, const char *key)
{
    struct job_memory *m = job_memories_peek(c->memories, key);

    if (m != NULL)
        m->is_updated = false;
}

/* Records the event of a Job that was created as held or suspended: the API
 * server wrote that state, and no event has reported it yet. A Job that existed
 * before this controller started had its event then.
 */
static void
record_new(struct job_controller *c, const struct object *job)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct job_event event;

    if (job_of(job)->status.state == NULL || is_anothers(job_of(job)))
        return;
    arena = arena_new(0);
    event = job_report_new(arena, job_of(job));
    if (event.reason != NULL)
        event_recorder_record(c->event_recorder, job, RECORD_NORMAL, event.reason, event.message);
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(new_object ? new_object : old_object, key);
    dependencies_see(c->dependencies, old_object, new_object);
    if (old_object != NULL && new_object != NULL)
        quota_waiters_see_job(c->waiters, new_object,
                              !job_update_is_current(old_object->meta, new_object->meta));
    job_log_job(old_object, new_object);
    if (old_object != NULL && new_object != NULL
        && !job_update_is_current(old_object->meta, new_object->meta))
        note_update(c, key);
    if (old_object != NULL && new_object != NULL
        && job_array_requeues(job_of(old_object)) != job_array_requeues(job_of(new_object)))
        job_memories_forget(c->memories, key); /* read the elements again */
    if (new_object == NULL) {
        job_memories_forget(c->memories, key);
        quota_waiters_remove(c->waiters, key);
    } else if (object_cache_has_synced(c->cache)) {
        if (old_object == NULL)
            record_new(c, new_object);
        workqueue_add(c->queue, key);
    }
}

/* Only this event says how a deleted pod has ended; the rest can be counted later. */
static void
note_pod_change(struct job_controller *c, const char *key, const struct owner_reference *owner,
                const struct object *old_pod, const struct object *new_pod)
{
    const struct object *pod = new_pod != NULL ? new_pod : old_pod;
    const struct object *job =
        object_cache_find(c->cache, &job_kind, pod->meta->namespace, owner->name);
    struct job_memory *m;

    if (job == NULL || strcmp(job->meta->uid, owner->uid) != 0 || job_is_finished(job_of(job)))
        return;
    m = job_memories_find(c->memories, key, job_of(job));
    if (job_is_array(job_of(job)) && (m == NULL || !array_state_is_loaded(m->counts->array))) {
        if (m != NULL && new_pod == NULL)
            array_state_note_removed(m->counts->array);
        return;
    }
    if (m == NULL && new_pod == NULL)
        m = job_memories_remember(c->memories, key,
                                  job_memories_count(c->memories, job_of(job), old_pod));
    if (m != NULL && new_pod != NULL)
        job_pod_counts_see(m->counts, job_of(job), pod_of(new_pod));
    else if (m != NULL && !pod_sight_became(c->cache, old_pod))
        job_pod_counts_see_gone(m->counts, job_of(job), pod_of(old_pod));
    if (m != NULL && new_pod != NULL && job_sync_is_outdated(new_pod, job))
        m->is_updated = false;
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_controller *c = context;
    const struct object *pod = new_object ? new_object : old_object;
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    CLEANUP_FREE char *key = NULL;

    if (owner == NULL || !object_cache_has_synced(c->cache))
        return;
    key = xasprintf("%s/%s", pod->meta->namespace, owner->name);
    job_log_pod(old_object, new_object);
    if (new_object != NULL)
        dependencies_see_pod(c->dependencies, owner->uid, new_object);
    note_pod_change(c, key, owner, old_object, new_object);
    workqueue_add(c->queue, key);
}

static void
on_quota(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_controller *c = context;

    quota_waiters_see_quota(c->waiters, old_object, new_object);
}

static void
queue_unfinished(const struct object *job, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (!job_is_finished(job_of(job)))
        workqueue_add(c->queue, key);
}

/* A changed limit may hold or release jobs. It changes rarely, so all jobs are
 * synced.
 */
static void
on_partition(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_controller *c = context;
    const int64_t was = old_object != NULL ? partition_of(old_object)->spec.maximum_requeues : 0;
    const int64_t is = new_object != NULL ? partition_of(new_object)->spec.maximum_requeues : 0;

    if (was != is && object_cache_has_synced(c->cache))
        object_cache_visit(c->cache, &job_kind, queue_unfinished, c);
}

static void
add_job(const struct object *job, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    job_log_job(NULL, job);
    if (!job_is_finished(job_of(job)))
        quota_waiters_recall(c->waiters, job);
    workqueue_add(c->queue, key);
}

/* A dependency or a quota that the job waited for has changed. */
static void
on_woken(const char *key, void *context)
{
    struct job_controller *c = context;

    if (object_cache_has_synced(c->cache))
        workqueue_add(c->queue, key);
}

/* The pods of a Job without a priority class get the default class. */
static void
on_class(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_controller *c = context;

    if (old_object != NULL && priority_class_of(old_object)->global_default)
        c->default_priority = 0;
    if (new_object != NULL && priority_class_of(new_object)->global_default)
        c->default_priority = priority_class_of(new_object)->value;
}

static int64_t
find_priority(const struct object *job, void *context)
{
    const struct job_controller *c = context;
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;
    const struct object *class;

    if (spec == NULL || (spec->priority == NULL && spec->priority_class_name == NULL))
        return c->default_priority;
    if (spec->priority != NULL)
        return *spec->priority;
    class = object_cache_find(c->cache, &priority_class_kind, NULL, spec->priority_class_name);
    return class != NULL ? priority_class_of(class)->value : 0;
}

static void
on_synced(void *context)
{
    struct job_controller *c = context;

    dependencies_start(c->dependencies);
    object_cache_visit(c->cache, &job_kind, add_job, c);
}

struct job_controller *
job_controller_new(struct loop *loop, struct client *client, struct object_cache *cache,
                   struct clock *clock)
{
    struct job_controller *c = xnew(struct job_controller);

    c->cache = cache;
    c->clock = clock;
    c->event_recorder = event_recorder_new(client, clock, "job-controller", NULL);
    c->sync = (struct job_sync_settings){
        .client = client,
        .cache = cache,
        .event_recorder = c->event_recorder,
        .refused = on_refused,
        .updated = on_updated,
        .done = on_pass_done,
        .context = c,
    };
    c->dependencies =
        dependencies_new(&(struct dependencies_settings){client, cache, clock, on_woken, c});
    c->overdue = timer_new(loop, find_overdue, c);
    c->queue = workqueue_new(loop, PARALLEL_JOBS, work_on_job, c);
    workqueue_follow_clock(c->queue, clock); /* jobs wait for begin times and deadlines */
    c->memories = job_memories_new(cache, clock, c->queue);
    c->waiters = quota_waiters_new(loop, on_woken, find_priority, c);
    c->arrays = array_sync_new(&(struct array_sync_settings){
        .client = client,
        .cache = cache,
        .clock = clock,
        .queue = c->queue,
        .memories = c->memories,
        .dependencies = c->dependencies,
        .event_recorder = c->event_recorder,
    });
    object_cache_listen(cache, &job_kind, on_job, c);
    object_cache_listen(cache, &pod_kind, on_pod, c);
    job_group_follow(cache, c->queue);
    object_cache_listen(cache, &resource_quota_kind, on_quota, c);
    object_cache_listen(cache, &priority_class_kind, on_class, c);
    object_cache_listen(cache, &partition_kind, on_partition, c);
    object_cache_on_synced(cache, on_synced, c);
    return c;
}

void
job_controller_hold_never_satisfied(struct job_controller *c, bool holds)
{
    c->holds_never_satisfied = holds;
    array_sync_hold_never_satisfied(c->arrays, holds);
}

void
job_controller_limit_requeues(struct job_controller *c, int64_t maximum)
{
    c->maximum_requeues = maximum;
}

struct json *
job_controller_explain_quota(struct job_controller *c, const struct object *job,
                             struct arena *arena)
{
    return quota_waiters_explain(c->waiters, job, arena);
}

void
job_controller_free(struct job_controller *c)
{
    if (c == NULL)
        return;
    timer_free(c->overdue);
    workqueue_free(c->queue);
    event_recorder_free(c->event_recorder);
    dependencies_free(c->dependencies);
    array_sync_free(c->arrays);
    job_memories_free(c->memories);
    quota_waiters_free(c->waiters);
    free(c);
}
