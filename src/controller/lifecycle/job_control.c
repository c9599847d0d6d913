/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_control.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/job_plan.h"
#include "controller/lifecycle/job_pod.h"
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
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL_JOBS   256u
#define PODS_AT_A_TIME  64u
#define COUNTS_DELAY_US INT64_C(1000000)
#define EXPECT_FOR_US   (60 * INT64_C(1000000))

/* A create that was sent, until its pod is seen, or given up. */
struct expected {
    struct list link;
    int64_t index;
    int64_t attempt;
    int64_t until_us; /* monotonic */
};

struct memory {
    struct list expected;
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

static struct memory *
memory_of(struct job_control *c, const char *key)
{
    struct memory *m = map_find(c->memories, key);

    if (m == NULL) {
        m = xnew(struct memory);
        list_init(&m->expected);
        map_put(c->memories, key, m);
    }
    return m;
}

static void
free_memory(struct memory *m)
{
    list_foreach_safe(pos, &m->expected)
        free(container_of(pos, struct expected, link));
    free(m);
}

static void
forget(struct job_control *c, const char *key)
{
    struct memory *m = map_remove(c->memories, key);

    if (m != NULL)
        free_memory(m);
}

static void
forget_if_empty(struct job_control *c, const char *key, struct memory *m)
{
    if (list_is_empty(&m->expected) && m->counts_due_us == 0)
        forget(c, key);
}

static void
expect(struct job_control *c, const char *key, int64_t index, int64_t attempt)
{
    struct expected *e = xnew(struct expected);

    e->index = index;
    e->attempt = attempt;
    e->until_us = clock_monotonic_us(c->clock) + EXPECT_FOR_US;
    list_add_last(&memory_of(c, key)->expected, &e->link);
}

/* Seen, or refused: no longer waited for. */
static void
stop_expecting(struct job_control *c,
               const char *key,
               int64_t index,
               int64_t attempt)
{
    struct memory *m = map_find(c->memories, key);

    if (m == NULL)
        return;
    list_foreach_safe(pos, &m->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->index == index && e->attempt == attempt) {
            list_remove(pos);
            free(e);
        }
    }
    forget_if_empty(c, key, m);
}

static void
add_expected(struct job_control *c, const char *key, struct job_tally *tally)
{
    struct memory *m = map_find(c->memories, key);
    int64_t now = clock_monotonic_us(c->clock);

    if (m == NULL)
        return;
    list_foreach(pos, &m->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->until_us > now)
            job_tally_add_expected(tally, e->index, e->attempt);
    }
}

/* Counts alone wait for company, up to COUNTS_DELAY_US; what ends or suspends
 * a job does not wait.
 */
static bool
puts_off_status(struct job_control *c,
                const char *key,
                const struct job_plan *plan)
{
    int64_t now = clock_monotonic_us(c->clock);
    struct memory *m;

    if (plan->status == NULL || plan->status_is_urgent)
        return false;
    m = memory_of(c, key);
    if (m->counts_due_us == 0)
        m->counts_due_us = now + COUNTS_DELAY_US;
    if (now >= m->counts_due_us)
        return false;
    workqueue_add_after(c->queue, key, (m->counts_due_us - now) / 1000 + 1);
    return true;
}

static void
forget_due_counts(struct job_control *c, const char *key)
{
    struct memory *m = map_find(c->memories, key);

    if (m == NULL)
        return;
    m->counts_due_us = 0;
    forget_if_empty(c, key, m);
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
on_created(const struct client_reply *reply, void *context)
{
    struct create *create = context;
    struct pass *pass = create->pass;
    struct error err = {0};

    /* 409: it is there from an earlier try; the watch will show it. */
    if (reply->code != 201 && reply->code != 200 && reply->code != 409) {
        stop_expecting(pass->control,
                       pass->key,
                       create->index,
                       create->attempt);
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
    expect(pass->control, pass->key, pod->index, pod->attempt);
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
tally_pod(const struct object *object, void *context)
{
    job_tally_add(context, pod_of(object));
}

static void
carry_out(struct pass *pass,
          const struct object *job,
          const struct job_plan *plan,
          struct arena *arena TAKES)
{
    struct job_control *c = pass->control;

    for (unsigned i = 0; i < plan->n_create; i++)
        create_pod(pass, job, &plan->create[i]);
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
    struct pass *pass;
    struct job_plan plan;

    if (job == NULL || job->meta->deleted_at_us != 0
        || job_is_finished(job_of(job))) {
        forget(c, key);
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    CLEANUP(job_tally_freep)
    struct job_tally *tally = job_tally_new(job_of(job));
    stock_visit_owned(c->stock, job->meta->uid, tally_pod, tally);
    add_expected(c, key, tally);
    arena = arena_new(0);
    job_plan(job_of(job),
             tally,
             clock_real_us(c->clock),
             PODS_AT_A_TIME,
             arena,
             &plan);
    if (puts_off_status(c, key, &plan)) {
        plan.status = NULL;
    } else {
        forget_due_counts(c, key);
    }

    pass = xnew(struct pass);
    pass->control = c;
    pass->key = xstrdup(key);
    pass->calls = 1;
    carry_out(pass, job, &plan, arena);
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

static void
on_pod(const struct object *old_object,
       const struct object *new_object,
       void *context)
{
    struct job_control *c = context;
    const struct object *pod = new_object ? new_object : old_object;
    const struct owner_reference *owner = meta_controller(pod->meta);
    CLEANUP_FREE char *key = NULL;
    int64_t index, attempt;

    if (owner == NULL || strcmp(owner->kind, job_kind.name) != 0)
        return;
    key = xasprintf("%s/%s", pod->meta->namespace, owner->name);
    if (job_pod_name_parse(owner->name, pod->meta->name, &index, &attempt))
        stop_expecting(c, key, index, attempt);
    if (stock_has_synced(c->stock))
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
