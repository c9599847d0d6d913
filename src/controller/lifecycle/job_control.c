/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_control.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/job_log.h"
#include "controller/lifecycle/job_pass.h"
#include "controller/lifecycle/job_plan.h"
#include "controller/lifecycle/job_tally.h"
#include "controller/lifecycle/job_verdict.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/timer.h"

#define PARALLEL_JOBS   256u
#define PODS_AT_A_TIME  64u
#define COUNTS_DELAY_US INT64_C(1000000)
#define EXPECT_FOR_US   (60 * INT64_C(1000000))
#define OVERDUE_MS      1000

/* What is remembered of a Job between looks. */
struct memory {
    struct job_tally *tally;
    int64_t counts_due_us; /* monotonic; 0: no counts wait to be written */
};

struct job_control {
    struct stock *stock;
    struct clock *clock;
    struct event_recorder *event_recorder;
    struct workqueue *queue;
    struct job_pass_means means;
    struct map *memories; /* by job key */
    struct timer *overdue;
};

/* ---- What is remembered of a job between passes ---- */

static void
free_memory(struct memory *m)
{
    job_tally_free(m->tally);
    free(m);
}

static void
forget(struct job_control *c, const char *key)
{
    struct memory *m = map_remove(c->memories, key);

    if (m != NULL)
        free_memory(m);
}

struct recount {
    struct job_tally *tally;
    const struct job *job;
};

static void
recount_pod(const struct object *object, void *context)
{
    struct recount *r = context;

    job_tally_see(r->tally, r->job, pod_of(object));
}

/* The pods that are there, and one that has just gone, or NULL. */
static struct job_tally *
count_pods(struct job_control *c,
           const struct job *job,
           const struct object *gone)
{
    struct recount r = {.tally = job_tally_new(job), .job = job};

    stock_visit_owned(c->stock, job->meta.uid, recount_pod, &r);
    if (gone != NULL)
        recount_pod(gone, &r);
    job_tally_settle(r.tally, job);
    return r.tally;
}

/* NULL: nothing is remembered, or of another job of that name. */
static struct memory *
find_memory(struct job_control *c, const char *key, const struct job *job)
{
    struct memory *m = map_find(c->memories, key);

    if (m == NULL || strcmp(m->tally->job_uid, job->meta.uid) == 0)
        return m;
    forget(c, key);
    return NULL;
}

static struct memory *
remember(struct job_control *c, const char *key, struct job_tally *tally TAKES)
{
    struct memory *m = xnew(struct memory);

    m->tally = tally;
    map_put(c->memories, key, m);
    return m;
}

static struct memory *
memory_of(struct job_control *c, const char *key, const struct job *job)
{
    struct memory *m = find_memory(c, key, job);

    return m != NULL ? m : remember(c, key, count_pods(c, job, NULL));
}

/* A job of one pod is counted anew when something happens; only while
 * something is not written yet, or on its way, it is worth remembering. Most
 * jobs that wait are such.
 */
static void
forget_if_quiet(struct job_control *c,
                const char *key,
                const struct job *job,
                const struct job_plan *plan)
{
    const struct memory *m = map_find(c->memories, key);

    if (job_completions(job) == 1 && !job_is_work_queue(job)
        && plan->status == NULL && plan->n_create == 0 && m->counts_due_us == 0
        && m->tally->n_expected == 0 && m->tally->refusals == 0)
        forget(c, key);
}

/* Counts alone wait for company, up to COUNTS_DELAY_US; what ends or suspends
 * a job does not wait.
 */
static bool
puts_off_status(struct job_control *c,
                const char *key,
                struct memory *m,
                const struct job_plan *plan)
{
    int64_t now = clock_monotonic_us(c->clock);

    if (plan->status == NULL || plan->status_is_urgent) {
        m->counts_due_us = 0;
        return false;
    }
    if (m->counts_due_us == 0)
        m->counts_due_us = now + COUNTS_DELAY_US;
    if (now >= m->counts_due_us) {
        m->counts_due_us = 0;
        return false;
    }
    workqueue_add_after(c->queue, key, (m->counts_due_us - now) / 1000 + 1);
    return true;
}

/* ---- A pass ---- */

static void
on_refused(const struct object *job,
           int64_t index,
           int64_t attempt,
           void *context)
{
    struct job_control *c = context;
    char key[OBJECT_KEY_SIZE];
    struct memory *m;

    object_key(job, key);
    m = map_find(c->memories, key);
    if (m != NULL)
        job_tally_give_up(m->tally, index, attempt);
}

static void
on_pass_done(const struct object *job, bool has_failed, void *context)
{
    struct job_control *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    workqueue_done(c->queue, key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
}

static void
create_pods(struct job_control *c,
            struct job_pass *pass,
            struct job_tally *tally,
            const struct job_plan *plan)
{
    int64_t until_us = clock_monotonic_us(c->clock) + EXPECT_FOR_US;

    if (plan->n_create > 0 && !timer_is_running(c->overdue))
        timer_start(c->overdue, OVERDUE_MS);
    if (plan->n_create > 0 && tally->began_us == 0)
        tally->began_us = clock_real_us(c->clock);
    for (unsigned i = 0; i < plan->n_create; i++) {
        const struct job_plan_pod *pod = &plan->create[i];

        job_tally_expect(tally, pod->index, pod->attempt, until_us);
        job_pass_create(pass, pod);
    }
}

/* A pod that came and went while the watch was interrupted is never seen, and
 * nothing else need happen to its job.
 */
static void
look_for_overdue(void *context)
{
    struct job_control *c = context;
    int64_t now_us = clock_monotonic_us(c->clock);
    bool is_any_expected = false;
    const char *key;
    size_t at = 0;
    void *value;

    while (map_next(c->memories, &at, &key, &value)) {
        const struct memory *m = value;

        is_any_expected = is_any_expected || m->tally->n_expected > 0;
        if (job_tally_is_overdue(m->tally, now_us))
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

/* What one of its pods is, or has come to, cannot be known: nothing is run a
 * second time for it.
 */
static bool
has_damaged_pods(const struct job_control *c, const struct object *job)
{
    if (!stock_is_damaged(c->stock, NULL, NULL, NULL, job->meta->uid))
        return false;
    log_warning("job '%s/%s' stays as it is: something of it cannot be read "
                "from the store (--check-store in kiln-controller(8))",
                job->meta->namespace,
                job->meta->name);
    return true;
}

static void
work_on_job(const char *key, void *context)
{
    struct job_control *c = context;
    char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace = xstrndup(key, (size_t)(slash - key));
    const struct object *job = stock_find_job(c->stock, namespace, slash + 1);
    struct arena *arena;
    struct memory *m;
    struct job_pass *pass;
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
    job_tally_expire(m->tally, clock_monotonic_us(c->clock));
    if (job_of(job)->spec.suspend)
        m->tally->began_us = 0; /* it starts anew when it is resumed */
    arena = arena_new(0);
    job_plan(job_of(job),
             m->tally,
             clock_real_us(c->clock),
             PODS_AT_A_TIME,
             arena,
             &plan);
    if (puts_off_status(c, key, m, &plan))
        plan.status = NULL;

    pass = job_pass_begin(&c->means, job);
    create_pods(c, pass, m->tally, &plan);
    if (plan.delete_active)
        job_pass_delete_active(pass);
    if (plan.n_surplus > 0)
        job_pass_delete_surplus(pass, plan.n_surplus);
    if (plan.wake_after_us > 0)
        workqueue_add_after(c->queue, key, plan.wake_after_us / 1000 + 1);
    if (plan.status != NULL)
        job_pass_write(pass, arena, plan.status, &plan.news);
    else
        arena_free(arena);
    forget_if_quiet(c, key, job_of(job), &plan);
    job_pass_end(pass);
}

/* ---- What changes ---- */

static void
on_job(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_control *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(new_object ? new_object : old_object, key);
    job_log_job(old_object, new_object);
    if (new_object == NULL)
        forget(c, key);
    else if (stock_has_synced(c->stock))
        workqueue_add(c->queue, key);
}

/* How a pod that is gone has ended is known from here alone; any other change
 * can be counted later, too.
 */
static void
tell_tally(struct job_control *c,
           const char *key,
           const struct owner_reference *owner,
           const struct object *old_pod,
           const struct object *new_pod)
{
    const struct object *pod = new_pod != NULL ? new_pod : old_pod;
    const struct object *job =
        stock_find_job(c->stock, pod->meta->namespace, owner->name);
    struct memory *m;

    if (job == NULL || strcmp(job->meta->uid, owner->uid) != 0
        || job_is_finished(job_of(job)))
        return;
    m = find_memory(c, key, job_of(job));
    if (m == NULL && new_pod == NULL)
        m = remember(c, key, count_pods(c, job_of(job), old_pod));
    if (m != NULL && new_pod != NULL)
        job_tally_see(m->tally, job_of(job), pod_of(new_pod));
    else if (m != NULL)
        job_tally_see_gone(m->tally, job_of(job), pod_of(old_pod));
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_control *c = context;
    const struct object *pod = new_object ? new_object : old_object;
    const struct owner_reference *owner =
        meta_controller_of(pod->meta, &job_kind);
    CLEANUP_FREE char *key = NULL;

    if (owner == NULL || !stock_has_synced(c->stock))
        return;
    key = xasprintf("%s/%s", pod->meta->namespace, owner->name);
    job_log_pod(old_object, new_object);
    tell_tally(c, key, owner, old_object, new_object);
    workqueue_add(c->queue, key);
}

static void
add_job(const struct object *job, void *context)
{
    on_job(NULL, job, context);
}

static void
on_synced(void *context)
{
    struct job_control *c = context;

    stock_visit_jobs(c->stock, add_job, c);
}

struct job_control *
job_control_new(struct loop *loop,
                struct client *client,
                struct stock *stock,
                struct clock *clock)
{
    struct job_control *c = xnew(struct job_control);
    struct stock_listener listener = {
        .job_changed = on_job,
        .pod_changed = on_pod,
        .synced = on_synced,
        .context = c,
    };

    c->stock = stock;
    c->clock = clock;
    c->event_recorder =
        event_recorder_new(client, clock, "job-controller", NULL);
    c->means = (struct job_pass_means){
        .client = client,
        .stock = stock,
        .event_recorder = c->event_recorder,
        .refused = on_refused,
        .done = on_pass_done,
        .context = c,
    };
    c->memories = map_new();
    c->overdue = timer_new(loop, look_for_overdue, c);
    c->queue = workqueue_new(loop, PARALLEL_JOBS, work_on_job, c);
    stock_listen(stock, &listener);
    return c;
}

void
job_control_free(struct job_control *c)
{
    size_t at = 0;
    void *m;

    if (c == NULL)
        return;
    timer_free(c->overdue);
    workqueue_free(c->queue);
    event_recorder_free(c->event_recorder);
    while (map_next(c->memories, &at, NULL, &m))
        free_memory(m);
    map_free(c->memories);
    free(c);
}
