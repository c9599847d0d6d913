/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_controller.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/job/array_calls.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/element_counts.h"
#include "controller/lifecycle/job/job_log.h"
#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_sync.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define PARALLEL_JOBS      256u
#define PODS_AT_A_TIME     64u
#define ELEMENTS_AT_A_TIME 256u
#define EXPECT_FOR_US      (60 * INT64_C(1000000))
#define OVERDUE_MS         1000

/* How long counts alone wait to be written: a second, and longer while more
 * jobs than that wait for each second, because in a burst of short jobs most
 * end before.
 */
/* Ended pods of an array stay so long that most have their row of history by
 * then; of one that goes before, the row waits in the store.
 */
#define SETTLE_AFTER_US INT64_C(1000000)
#define SETTLE_MANY     256

#define COUNTS_DELAY_US   INT64_C(1000000)
#define COUNTS_A_SECOND   200u
#define MOST_COUNTS_DELAY 10

/* The memory of a Job between two syncs. */
struct memory {
    struct job_pod_counts *counts;
    int64_t counts_due_us; /* monotonic; 0: no counts wait to be written */
    bool is_updated;  /* all its pods are as it says since it was updated */
    bool is_settling; /* ends of elements are on their way to the store */
};

struct job_controller {
    struct object_cache *cache;
    struct clock *clock;
    struct event_recorder *event_recorder;
    struct workqueue *queue;
    struct job_sync_settings sync;
    struct dependencies *dependencies;
    bool holds_never_satisfied;
    int64_t maximum_requeues;
    struct map *memories; /* by job key */
    size_t n_put_off;     /* of these, with counts to be written */
    struct timer *overdue;
};

/* ---- What is remembered of a job between syncs ---- */

static void
free_memory(struct memory *m)
{
    job_pod_counts_free(m->counts);
    free(m);
}

static void
forget(struct job_controller *c, const char *key)
{
    struct memory *m = map_remove(c->memories, key);

    if (m == NULL)
        return;
    c->n_put_off -= m->counts_due_us != 0;
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

/* The pods that are there, and one that has just gone, or NULL. */
static struct job_pod_counts *
count_pods(struct job_controller *c,
           const struct job *job,
           const struct object *gone)
{
    struct recount r = {.counts = job_pod_counts_new(job), .job = job};

    object_cache_visit_owned(c->cache, job->meta.uid, recount_pod, &r);
    if (gone != NULL)
        recount_pod(gone, &r);
    job_pod_counts_settle(r.counts, job);
    return r.counts;
}

/* NULL: nothing is remembered, or of another job of that name. */
static struct memory *
find_memory(struct job_controller *c, const char *key, const struct job *job)
{
    struct memory *m = map_find(c->memories, key);

    if (m == NULL || strcmp(m->counts->job_uid, job->meta.uid) == 0)
        return m;
    forget(c, key);
    return NULL;
}

static struct memory *
remember(struct job_controller *c,
         const char *key,
         struct job_pod_counts *counts TAKES)
{
    struct memory *m = xnew(struct memory);

    m->counts = counts;
    map_put(c->memories, key, m);
    return m;
}

static struct memory *
memory_of(struct job_controller *c, const char *key, const struct job *job)
{
    struct memory *m = find_memory(c, key, job);

    if (m == NULL && job_is_array(job)) /* its elements are read first */
        return remember(c, key, job_pod_counts_new(job));
    return m != NULL ? m : remember(c, key, count_pods(c, job, NULL));
}

/* A job of one pod is counted anew when something happens; only while
 * something is not written yet, or on its way, it is worth remembering. Most
 * jobs that wait are such.
 */
static void
forget_if_quiet(struct job_controller *c,
                const char *key,
                const struct job *job,
                const struct job_plan *plan)
{
    const struct memory *m = map_find(c->memories, key);

    if (job_completions(job) == 1 && !job_is_work_queue(job)
        && !job_is_array(job) && plan->status == NULL && plan->n_create == 0
        && m->counts_due_us == 0 && m->is_updated && m->counts->n_expected == 0
        && m->counts->refusals == 0 && m->counts->refusal == NULL)
        forget(c, key);
}

static void
put_off(struct job_controller *c, struct memory *m, int64_t now_us)
{
    size_t seconds = ++c->n_put_off / COUNTS_A_SECOND;

    if (seconds < 1)
        seconds = 1;
    if (seconds > MOST_COUNTS_DELAY)
        seconds = MOST_COUNTS_DELAY;
    m->counts_due_us = now_us + (int64_t)seconds * COUNTS_DELAY_US;
}

static void
stop_putting_off(struct job_controller *c, struct memory *m)
{
    c->n_put_off -= m->counts_due_us != 0;
    m->counts_due_us = 0;
}

/* Counts alone wait for company; what ends or suspends a job does not wait. */
static bool
puts_off_status(struct job_controller *c,
                const char *key,
                struct memory *m,
                const struct job_plan *plan)
{
    int64_t now = clock_monotonic_us(c->clock);

    if (plan->status == NULL || plan->status_is_urgent) {
        stop_putting_off(c, m);
        return false;
    }
    if (m->counts_due_us == 0)
        put_off(c, m, now);
    if (now >= m->counts_due_us) {
        stop_putting_off(c, m);
        return false;
    }
    workqueue_add_after(c->queue, key, (m->counts_due_us - now) / 1000 + 1);
    return true;
}

/* ---- Arrays ---- */

static struct memory *
find_array_memory(struct job_controller *c, const struct object *job)
{
    char key[OBJECT_KEY_SIZE];
    struct memory *m;

    object_key(job, key);
    m = map_find(c->memories, key);
    return m != NULL && m->counts->array != NULL
                   && strcmp(m->counts->job_uid, job->meta->uid) == 0
               ? m
               : NULL;
}

static void
on_elements_read(const struct object *job,
                 const struct json *elements,
                 void *context)
{
    struct job_controller *c = context;
    struct memory *m = find_array_memory(c, job);
    struct recount r = {.job = job_of(job)};
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (m == NULL || m->counts->array->is_loaded)
        return; /* it was asked twice, where the job was forgotten meanwhile */
    m->counts->array->is_loading = false;
    if (elements == NULL) {
        workqueue_add_after(c->queue, key, OVERDUE_MS);
        return;
    }
    if (!element_counts_load(m->counts, job_of(job), elements)) {
        m->counts->array->is_loading = true; /* not again and again */
        log_error("job '%s/%s' stays as it is: the record of its elements is "
                  "of a later release, or damaged",
                  job->meta->namespace,
                  job->meta->name);
        return;
    }
    r.counts = m->counts;
    object_cache_visit_owned(c->cache, job->meta->uid, recount_pod, &r);
    workqueue_add(c->queue, key);
}

/* False: it is not known yet how the elements stand. */
static bool
knows_elements(struct job_controller *c,
               struct memory *m,
               const struct object *job)
{
    struct array_state *a = m->counts->array;

    if (a == NULL || a->is_loaded)
        return true;
    if (!a->is_loading)
        array_calls_read(c->sync.client, job, on_elements_read, c);
    a->is_loading = true;
    return false;
}

static bool
has_index(const struct json *list, int64_t index)
{
    int64_t is;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_to_int(json_at(list, i), &is) == 0 && is == index)
            return true;
    return false;
}

static void
on_settled(const struct object *job, const struct json *kept, void *context)
{
    struct job_controller *c = context;
    struct memory *m = find_array_memory(c, job);
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (m == NULL)
        return;
    m->is_settling = false;
    list_foreach_safe(pos, &m->counts->array->ends)
    {
        struct array_end *end = container_of(pos, struct array_end, link);

        if (!end->is_sent)
            break;
        end->is_sent = false;
        if (kept == NULL)
            continue;
        if (has_index(kept, end->index))
            element_counts_keep(m->counts, end->pod);
        else if (end->outcome != ARRAY_AGAIN)
            dependencies_see_element(c->dependencies,
                                     job->meta->uid,
                                     end->index,
                                     end->outcome == ARRAY_DONE);
        array_state_drop_end(m->counts->array, end);
    }
    if (kept == NULL)
        workqueue_add_after(c->queue, key, OVERDUE_MS);
    else
        workqueue_add(c->queue, key);
}

/* Ended pods wait a little, unless nothing else is left to do. */
static void
settle(struct job_controller *c,
       const char *key,
       struct memory *m,
       const struct object *job)
{
    struct array_state *a = m->counts->array;
    int64_t now_us = clock_monotonic_us(c->clock);
    struct array_end *first;
    int64_t left;

    if (a == NULL || a->n_ends == 0 || m->is_settling)
        return;
    first = container_of(a->ends.next, struct array_end, link);
    if (first->since_us == 0)
        first->since_us = now_us;
    left = first->since_us + SETTLE_AFTER_US - now_us;
    if (left > 0 && a->n_ends < SETTLE_MANY && m->counts->active > 0
        && !a->must_settle) {
        workqueue_add_after(c->queue, key, left / 1000 + 1);
        return;
    }
    a->must_settle = false;
    m->is_settling = true;
    array_calls_settle(c->sync.client, job, a, on_settled, c);
}

struct looking {
    struct job_sync *sync;
    struct job_pod_counts *counts;
    int64_t n_withdraw;
};

static bool
is_placed(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

/* Held: it is taken back if it has not started. Cancelled: it ends in any case. */
static void
look_at_pod(const struct object *object, void *context)
{
    struct looking *l = context;
    const struct array_state *a = l->counts->array;
    const struct pod *pod = pod_of(object);
    int64_t index = -1, attempt;

    if (pod_is_finished(pod) || pod->meta.deleted_at_us != 0
        || !job_pod_name_parse(job_sync_job(l->sync)->meta->name,
                               pod->meta.name,
                               &index,
                               &attempt))
        return;
    if (is_placed(pod)) {
        if (array_state_is_cancelled(a, index))
            job_sync_delete_pod(l->sync, object);
        return;
    }
    if (array_state_is_barred(a, index)) {
        element_counts_withdraw(l->counts,
                                pod,
                                array_state_is_cancelled(a, index));
    } else if (l->n_withdraw > 0) {
        l->n_withdraw--;
        element_counts_withdraw(l->counts, pod, false);
    }
}

static void
look_at_pods(struct job_controller *c,
             struct job_sync *sync,
             struct job_pod_counts *counts,
             int64_t n_withdraw)
{
    struct looking l = {sync, counts, n_withdraw};

    if (counts->array == NULL || (!counts->array->must_look && n_withdraw == 0))
        return;
    counts->array->must_look = false;
    object_cache_visit_owned(c->cache, counts->job_uid, look_at_pod, &l);
    counts->array->must_settle = counts->array->n_ends > 0;
}

/* ---- A sync ---- */

static void
on_refused(const struct object *job,
           int64_t index,
           int64_t attempt,
           const char *words,
           void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];
    struct memory *m;

    object_key(job, key);
    m = map_find(c->memories, key);
    if (m != NULL)
        job_pod_counts_refuse(m->counts, index, attempt, words);
}

static void
on_updated(const struct object *job, const char *refusal, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];
    struct memory *m;

    object_key(job, key);
    m = map_find(c->memories, key);
    if (m != NULL && (refusal != NULL || m->counts->refusal != NULL))
        job_pod_counts_set_refusal(m->counts, refusal);
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
create_pods(struct job_controller *c,
            struct job_sync *sync,
            struct job_pod_counts *counts,
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
        job_sync_create(sync, pod);
    }
}

/* All pods are looked at once after the Job was updated, and again when one
 * comes that was made by what it said before.
 */
static void
update_pods(struct job_sync *sync, struct memory *m, const struct object *job)
{
    if (!m->is_updated
        && string_map_find(&job->meta->annotations, ANNOTATION_UPDATE) != NULL)
        m->is_updated = job_sync_update_pods(sync, PODS_AT_A_TIME) == 0;
    else
        m->is_updated = true;
}

/* A pod that came and went while the watch was interrupted is never seen, and
 * nothing else need happen to its job.
 */
static void
look_for_overdue(void *context)
{
    struct job_controller *c = context;
    int64_t now_us = clock_monotonic_us(c->clock);
    bool is_any_expected = false;
    const char *key;
    size_t at = 0;
    void *value;

    while (map_next(c->memories, &at, &key, &value)) {
        const struct memory *m = value;

        is_any_expected = is_any_expected || m->counts->n_expected > 0;
        if (job_pod_counts_is_overdue(m->counts, now_us))
            workqueue_add(c->queue, key);
    }
    if (is_any_expected)
        timer_start(c->overdue, OVERDUE_MS);
}

/* Of another controller, which its maker named. */
static bool
is_anothers(const struct job *job)
{
    const char *by = job->spec.managed_by;

    return by != NULL && strcmp(by, MANAGED_BY_KILN) != 0;
}

/* True when the state of one of its pods cannot be known: then nothing is run a
 * second time for it.
 */
static bool
has_damaged_pods(const struct job_controller *c, const struct object *job)
{
    if (!object_cache_is_damaged(c->cache, NULL, NULL, NULL, job->meta->uid))
        return false;
    log_warning("job '%s/%s' stays as it is: something of it cannot be read "
                "from the store (--check-store in kiln-controller(8))",
                job->meta->namespace,
                job->meta->name);
    return true;
}

/* Of a job that has made a pod nothing is left to wait for, though its status does
 * not say so yet.
 */
static void
judge_dependencies(struct job_controller *c,
                   struct memory *m,
                   const struct object *job,
                   struct arena *arena,
                   struct dependency_answer *answer)
{
    m->counts->waits_for = NULL;
    if (!job_waits_for_others(job_of(job)) || m->counts->made > 0
        || m->counts->n_expected > 0)
        return;
    dependencies_judge(c->dependencies, job, arena, answer);
    answer->is_held_for_good = c->holds_never_satisfied;
    m->counts->waits_for = answer;
}

/* Elements that wait in vain for those of others end before the plan; none does
 * while the array waits as a whole.
 */
static int64_t
see_gate(struct job_controller *c, struct memory *m, const struct object *job)
{
    struct array_state *a = m->counts->array;
    int64_t wake_after_us;

    if (a == NULL)
        return 0;
    a->gate = dependencies_gate(c->dependencies, job, &wake_after_us);
    if (a->gate == NULL)
        return 0;
    array_state_note_free(a, a->gate->freed_from);
    a->gate->freed_from = INT64_MAX;
    if (m->counts->waits_for != NULL
        && m->counts->waits_for->verdict != DEPENDENCY_IS_MET)
        return wake_after_us;
    if (!c->holds_never_satisfied && a->n_ends < SETTLE_MANY)
        element_counts_give_up(m->counts, SETTLE_MANY);
    return wake_after_us;
}

static void
work_on_job(const char *key, void *context)
{
    struct job_controller *c = context;
    const struct object *job = object_cache_find_key(c->cache, &job_kind, key);
    struct arena *arena;
    struct memory *m;
    struct job_sync *sync;
    struct dependency_answer answer;
    int64_t wake_after_us;
    struct job_plan plan;

    if (job == NULL || job->meta->deleted_at_us != 0
        || job_is_finished(job_of(job)) || is_anothers(job_of(job))) {
        forget(c, key);
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    if (has_damaged_pods(c, job)) {
        forget(c, key);
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    m = memory_of(c, key, job_of(job));
    if (!knows_elements(c, m, job)) {
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
        m->counts->began_us = 0; /* it starts anew when it is resumed */
    arena = arena_new(0);
    judge_dependencies(c, m, job, arena, &answer);
    wake_after_us = see_gate(c, m, job);
    m->counts->maximum_requeues = c->maximum_requeues;
    job_plan(job_of(job),
             m->counts,
             clock_real_us(c->clock),
             m->counts->array != NULL ? ELEMENTS_AT_A_TIME : PODS_AT_A_TIME,
             arena,
             &plan);
    m->counts->waits_for = NULL;
    if (m->counts->array != NULL)
        m->counts->array->gate = NULL;
    if (wake_after_us > 0)
        workqueue_add_after(c->queue, key, wake_after_us / 1000 + 1);
    if (puts_off_status(c, key, m, &plan))
        plan.status = NULL;

    sync = job_sync_begin(&c->sync, job);
    create_pods(c, sync, m->counts, &plan);
    if (plan.delete_active)
        job_sync_delete_active(sync);
    else
        update_pods(sync, m, job);
    if (plan.n_remove > 0)
        job_sync_remove_pods(sync, plan.n_remove);
    look_at_pods(c, sync, m->counts, plan.n_withdraw);
    settle(c, key, m, job);
    if (plan.hold_waiting || plan.release_waiting)
        job_sync_hold_waiting(sync, plan.hold_waiting);
    if (plan.mark_placed)
        job_sync_mark_placed(sync);
    if (plan.wake_after_us > 0)
        workqueue_add_after(c->queue, key, plan.wake_after_us / 1000 + 1);
    if (plan.status != NULL)
        job_sync_write(sync, arena, plan.status, &plan.event);
    else
        arena_free(arena);
    forget_if_quiet(c, key, job_of(job), &plan);
    job_sync_end(sync);
}

/* ---- What changes ---- */

static void
note_update(struct job_controller *c, const char *key)
{
    struct memory *m = map_find(c->memories, key);

    if (m != NULL)
        m->is_updated = false;
}

static void
on_job(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(new_object ? new_object : old_object, key);
    dependencies_see(c->dependencies, old_object, new_object);
    job_log_job(old_object, new_object);
    if (old_object != NULL && new_object != NULL
        && !job_update_is_current(old_object->meta, new_object->meta))
        note_update(c, key);
    if (new_object == NULL)
        forget(c, key);
    else if (object_cache_has_synced(c->cache))
        workqueue_add(c->queue, key);
}

/* How a pod that is gone has ended is known from here alone; any other change
 * can be counted later, too.
 */
static void
note_pod_change(struct job_controller *c,
                const char *key,
                const struct owner_reference *owner,
                const struct object *old_pod,
                const struct object *new_pod)
{
    const struct object *pod = new_pod != NULL ? new_pod : old_pod;
    const struct object *job = object_cache_find(c->cache,
                                                 &job_kind,
                                                 pod->meta->namespace,
                                                 owner->name);
    struct memory *m;

    if (job == NULL || strcmp(job->meta->uid, owner->uid) != 0
        || job_is_finished(job_of(job)))
        return;
    m = find_memory(c, key, job_of(job));
    if (job_is_array(job_of(job))
        && (m == NULL || !m->counts->array->is_loaded))
        return;
    if (m == NULL && new_pod == NULL)
        m = remember(c, key, count_pods(c, job_of(job), old_pod));
    if (m != NULL && new_pod != NULL)
        job_pod_counts_see(m->counts, job_of(job), pod_of(new_pod));
    else if (m != NULL)
        job_pod_counts_see_gone(m->counts, job_of(job), pod_of(old_pod));
    if (m != NULL && new_pod != NULL
        && !job_update_is_current(new_pod->meta, job->meta))
        m->is_updated = false;
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_controller *c = context;
    const struct object *pod = new_object ? new_object : old_object;
    const struct owner_reference *owner =
        meta_controller_of(pod->meta, &job_kind);
    CLEANUP_FREE char *key = NULL;

    if (owner == NULL || !object_cache_has_synced(c->cache))
        return;
    key = xasprintf("%s/%s", pod->meta->namespace, owner->name);
    job_log_pod(old_object, new_object);
    note_pod_change(c, key, owner, old_object, new_object);
    workqueue_add(c->queue, key);
}

static void
add_job(const struct object *job, void *context)
{
    struct job_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    job_log_job(NULL, job);
    workqueue_add(c->queue, key);
}

/* Something that another job waited for has become so. */
static void
on_woken(const char *key, void *context)
{
    struct job_controller *c = context;

    if (object_cache_has_synced(c->cache))
        workqueue_add(c->queue, key);
}

static void
on_synced(void *context)
{
    struct job_controller *c = context;

    dependencies_start(c->dependencies);
    object_cache_visit(c->cache, &job_kind, add_job, c);
}

struct job_controller *
job_controller_new(struct loop *loop,
                   struct client *client,
                   struct object_cache *cache,
                   struct clock *clock)
{
    struct job_controller *c = xnew(struct job_controller);

    c->cache = cache;
    c->clock = clock;
    c->event_recorder =
        event_recorder_new(client, clock, "job-controller", NULL);
    c->sync = (struct job_sync_settings){
        .client = client,
        .cache = cache,
        .event_recorder = c->event_recorder,
        .refused = on_refused,
        .updated = on_updated,
        .done = on_pass_done,
        .context = c,
    };
    c->dependencies = dependencies_new(
        &(struct dependencies_settings){client, cache, clock, on_woken, c});
    c->memories = map_new();
    c->overdue = timer_new(loop, look_for_overdue, c);
    c->queue = workqueue_new(loop, PARALLEL_JOBS, work_on_job, c);
    object_cache_listen(cache, &job_kind, on_job, c);
    object_cache_listen(cache, &pod_kind, on_pod, c);
    object_cache_on_synced(cache, on_synced, c);
    return c;
}

void
job_controller_hold_never_satisfied(struct job_controller *c, bool holds)
{
    c->holds_never_satisfied = holds;
}

void
job_controller_limit_requeues(struct job_controller *c, int64_t maximum)
{
    c->maximum_requeues = maximum;
}

void
job_controller_free(struct job_controller *c)
{
    size_t at = 0;
    void *m;

    if (c == NULL)
        return;
    timer_free(c->overdue);
    workqueue_free(c->queue);
    event_recorder_free(c->event_recorder);
    dependencies_free(c->dependencies);
    while (map_next(c->memories, &at, NULL, &m))
        free_memory(m);
    map_free(c->memories);
    free(c);
}
