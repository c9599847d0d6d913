/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_control.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/job_plan.h"
#include "controller/lifecycle/job_pod.h"
#include "controller/lifecycle/job_tally.h"
#include "controller/lifecycle/job_verdict.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/workqueue.h"
#include "lib/api/job.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL_JOBS   256u
#define PODS_AT_A_TIME  64u
#define COUNTS_DELAY_US INT64_C(1000000)
#define EXPECT_FOR_US   (60 * INT64_C(1000000))

/* What is remembered of a Job between looks. */
struct memory {
    struct job_tally *tally;
    int64_t counts_due_us; /* monotonic; 0: no counts wait to be written */
};

/* One look at a Job: the calls it has under way. */
struct pass {
    struct job_control *control;
    char *key;
    unsigned calls;
    bool failed;
};

struct job_control {
    struct client *client;
    struct stock *stock;
    struct clock *clock;
    struct workqueue *queue;
    struct map *memories; /* by job key */
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

    job_tally_see(r->tally, r->job, NULL, pod_of(object));
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
        && m->tally->n_expected == 0)
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
end_call(struct pass *pass)
{
    if (--pass->calls > 0)
        return;
    workqueue_done(pass->control->queue,
                   pass->key,
                   pass->failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    free(pass->key);
    free(pass);
}

struct create {
    struct pass *pass;
    int64_t index;
    int64_t attempt;
};

static void
give_up(struct job_control *c, const char *key, int64_t index, int64_t attempt)
{
    struct memory *m = map_find(c->memories, key);

    if (m != NULL)
        job_tally_give_up(m->tally, index, attempt);
}

static void
on_created(const struct client_reply *reply, void *context)
{
    struct create *create = context;
    struct pass *pass = create->pass;
    struct error err = {0};

    /* 409: it is there from an earlier try; the watch will show it. */
    if (reply->code != 201 && reply->code != 200 && reply->code != 409) {
        give_up(pass->control, pass->key, create->index, create->attempt);
        client_reply_error(reply, &err);
        log_warning("cannot make a pod of job '%s': %s, trying again",
                    pass->key,
                    err.text);
        pass->failed = true;
    }
    free(create);
    end_call(pass);
}

static void
create_pod(struct pass *pass,
           const struct object *job,
           struct job_tally *tally,
           const struct job_plan_pod *pod)
{
    struct arena *arena = arena_new(8192);
    struct create *create = xnew(struct create);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_kind,
        .namespace = job->meta->namespace,
        .body = job_pod_make(arena, job, pod->index, pod->attempt),
    };

    create->pass = pass;
    create->index = pod->index;
    create->attempt = pod->attempt;
    job_tally_expect(tally,
                     pod->index,
                     pod->attempt,
                     clock_monotonic_us(pass->control->clock) + EXPECT_FOR_US);
    pass->calls++;
    client_call(pass->control->client, arena, &request, on_created, create);
}

static void
on_written(const struct client_reply *reply, void *context)
{
    struct pass *pass = context;
    struct error err = {0};

    if (reply->code == 0 || (reply->code >= 400 && reply->code != 404)) {
        client_reply_error(reply, &err);
        log_debug("job '%s': %s, trying again", pass->key, err.text);
        pass->failed = true;
    }
    end_call(pass);
}

static void
delete_pod(const struct object *object, void *context)
{
    struct pass *pass = context;
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_kind,
        .namespace = object->meta->namespace,
        .name = object->meta->name,
    };

    if (pod_is_finished(pod_of(object)) || object->meta->deleted_at_us != 0)
        return;
    pass->calls++;
    client_call(pass->control->client, NULL, &request, on_written, pass);
}

/* The revision goes along: a Job that changed since is looked at again. */
static void
write_status(struct pass *pass,
             const struct object *job,
             struct arena *arena TAKES,
             struct json *status)
{
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .name = job->meta->name,
        .subresource = "status",
        .body = body,
    };

    json_set_string(arena,
                    json_make_object(arena, body, "metadata"),
                    "resourceVersion",
                    job->meta->resource_version);
    json_set(arena, body, "status", status);
    pass->calls++;
    client_call(pass->control->client, arena, &request, on_written, pass);
}

static void
carry_out(struct pass *pass,
          const struct object *job,
          struct job_tally *tally,
          const struct job_plan *plan,
          struct arena *arena TAKES)
{
    struct job_control *c = pass->control;

    for (unsigned i = 0; i < plan->n_create; i++)
        create_pod(pass, job, tally, &plan->create[i]);
    if (plan->delete_active)
        stock_visit_owned(c->stock, job->meta->uid, delete_pod, pass);
    if (plan->wake_after_us > 0)
        workqueue_add_after(c->queue,
                            pass->key,
                            plan->wake_after_us / 1000 + 1);
    if (plan->status != NULL)
        write_status(pass, job, arena, plan->status);
    else
        arena_free(arena);
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
    struct pass *pass;
    struct job_plan plan;

    if (job == NULL || job->meta->deleted_at_us != 0
        || job_is_finished(job_of(job))) {
        forget(c, key);
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    m = memory_of(c, key, job_of(job));
    job_tally_expire(m->tally, clock_monotonic_us(c->clock));
    arena = arena_new(0);
    job_plan(job_of(job),
             m->tally,
             clock_real_us(c->clock),
             PODS_AT_A_TIME,
             arena,
             &plan);
    if (puts_off_status(c, key, m, &plan))
        plan.status = NULL;

    pass = xnew(struct pass);
    pass->control = c;
    pass->key = xstrdup(key);
    pass->calls = 1;
    carry_out(pass, job, m->tally, &plan, arena);
    forget_if_quiet(c, key, job_of(job), &plan);
    end_call(pass);
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
    if (m != NULL)
        job_tally_see(m->tally,
                      job_of(job),
                      old_pod != NULL ? pod_of(old_pod) : NULL,
                      new_pod != NULL ? pod_of(new_pod) : NULL);
}

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_control *c = context;
    const struct object *pod = new_object ? new_object : old_object;
    const struct owner_reference *owner = meta_controller(pod->meta);
    CLEANUP_FREE char *key = NULL;

    if (owner == NULL || strcmp(owner->kind, job_kind.name) != 0
        || !stock_has_synced(c->stock))
        return;
    key = xasprintf("%s/%s", pod->meta->namespace, owner->name);
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

    c->client = client;
    c->stock = stock;
    c->clock = clock;
    c->memories = map_new();
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
    workqueue_free(c->queue);
    while (map_next(c->memories, &at, NULL, &m))
        free_memory(m);
    map_free(c->memories);
    free(c);
}
