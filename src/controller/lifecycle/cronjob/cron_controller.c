/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a Job is its scheduled minute, so that "was it created?" is answered by the API
 * and not by the memory of a controller (decision 231): a second try, after a lost answer or a
 * restart, finds the name taken by its own Job. A Job is created only when the status needs no
 * other write, because each write brings the CronJob here again, and two passes would race for
 * one minute.
 *
 * Times are those of the real clock, and the clock may be set at any moment. The workqueue
 * then looks at every schedule again; cron_plan.c says what a last time that lies in the
 * future means.
 */
#include "controller/lifecycle/cronjob/cron_controller.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/cronjob/cron_plan.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/cron/cron_job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_map.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/text.h"
#include "lib/base/time_zone.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

#define PARALLEL  16u
#define SECOND_US INT64_C(1000000)

/* State of a CronJob that its object does not hold; by uid. */
struct memory {
    struct object_map *jobs; /* the Jobs that it controls */
    int64_t last_s;          /* last scheduled time that a Job was created
                              * for */
    int64_t not_before_s;    /* when the schedule was last changed */
    int64_t told_s;          /* when the last event about a missed start was
                              * recorded */
    bool is_known;           /* the CronJob exists */
};

struct cron_controller {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct event_recorder *event_recorder;
    struct workqueue *queue; /* CronJobs, "namespace/name" */
    struct map *memories;
    struct list starts; /* create calls of Jobs */
};

/* A pending create call of a Job. */
struct start {
    struct list link;
    struct cron_controller *c;
    struct client_call *call;
    char *key, *uid, *job_name;
    int64_t at_s;
};

static struct memory *
memory_of(struct cron_controller *c, const char *uid)
{
    struct memory *m = map_find(c->memories, uid);

    if (m == NULL) {
        m = xnew(struct memory);
        m->jobs = object_map_new();
        map_put(c->memories, uid, m);
    }
    return m;
}

static void
free_memory(struct memory *m)
{
    object_map_free(m->jobs);
    free(m);
}

/* A Job may be reported before its CronJob is, and after the CronJob was
 * deleted.
 */
static void
forget_if_empty(struct cron_controller *c, const char *uid)
{
    struct memory *m = map_find(c->memories, uid);

    if (m == NULL || m->is_known || object_map_count(m->jobs) > 0)
        return;
    map_remove(c->memories, uid);
    free_memory(m);
}

/* ---- Making a Job ---- */

static void
start_free(struct start *s)
{
    list_remove(&s->link);
    free(s->key);
    free(s->uid);
    free(s->job_name);
    free(s);
}

static const struct object *
find_cron_job(const struct cron_controller *c, const struct start *s)
{
    const struct object *object = object_cache_find_key(c->cache, &cron_job_kind, s->key);

    return object != NULL && strcmp(object->meta->uid, s->uid) == 0 ? object : NULL;
}

/* The Job was created by an earlier call whose answer was lost, or whose watch
 * event came after this call was sent.
 */
static bool
is_own_job(const struct start *s, const struct object *cron_job)
{
    const struct object *job =
        object_cache_find(s->c->cache, &job_kind, cron_job->meta->namespace, s->job_name);

    return job != NULL && meta_is_controlled_by(job->meta, cron_job);
}

static void PRINTF(5, 6)
    record_event(struct cron_controller *c, const struct object *cron_job,
                 enum recorded_event_kind kind, const char *reason, const char *format, ...)
{
    char words[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    event_recorder_record(c->event_recorder, cron_job, kind, reason, words);
}

static void
on_started(const struct client_reply *reply, void *context)
{
    struct start *s = context;
    struct cron_controller *c = s->c;
    const struct object *cron_job = find_cron_job(c, s);
    struct error err = {0};
    bool is_made = client_reply_error(reply, &err) == 0;

    if (cron_job == NULL) {
        workqueue_done(c->queue, s->key, WORKQUEUE_OK);
        start_free(s);
        return;
    }
    if (is_made) {
        record_event(c, cron_job, RECORD_NORMAL, EVENT_SUCCESSFUL_CREATE, "Created job %s",
                     s->job_name);
        log_info("CronJob '%s': created job '%s'", s->key, s->job_name);
    } else if (reply->code == 409 && is_own_job(s, cron_job))
        is_made = true;
    else if (reply->code != 0) {
        record_event(c, cron_job, RECORD_WARNING, EVENT_FAILED_CREATE,
                     "Error creating job: %.1000s", err.text);
        log_debug("CronJob '%s': %s, trying again", s->key, err.text);
    }
    if (is_made) {
        memory_of(c, s->uid)->last_s = s->at_s;
        workqueue_add(c->queue, s->key);
    }
    workqueue_done(c->queue, s->key, is_made ? WORKQUEUE_OK : WORKQUEUE_FAILED);
    start_free(s);
}

static void
start_job(struct cron_controller *c, const char *key, const struct object *cron_job,
          const struct time_zone *zone, int64_t at_s)
{
    struct arena *arena = arena_new(0);
    struct start *s = xnew(struct start);
    char name[CRON_JOB_NAME_SIZE];

    cron_job_name_job(cron_job->meta->name, at_s, name);
    s->c = c;
    s->key = xstrdup(key);
    s->uid = xstrdup(cron_job->meta->uid);
    s->job_name = xstrdup(name);
    s->at_s = at_s;
    list_add_last(&c->starts, &s->link);
    s->call = client_call(c->client, arena,
                          &(struct client_request){
                              .verb = CLIENT_CREATE,
                              .kind = &job_kind,
                              .namespace = cron_job->meta->namespace,
                              .body = cron_plan_job(cron_job, zone, at_s, arena),
                              .on_behalf_of = cron_job,
                          },
                          on_started, s);
}

/* ---- One CronJob ---- */

static const struct object **
list_jobs(const struct memory *m, struct arena *arena, size_t *ret_count)
{
    const struct object **list =
        arena_new_array(arena, const struct object *, object_map_count(m->jobs) + 1);
    size_t at = 0;

    *ret_count = 0;
    while (object_map_next(m->jobs, &at, &list[*ret_count]))
        (*ret_count)++;
    return list;
}

static const char *
condition_of(const struct object *job)
{
    return job_find_condition(job_of(job), "Failed") != NULL ? "Failed" : "Complete";
}

/* An event about a start that did not happen is recorded once for each
 * scheduled time.
 */
static void
record_plan(struct cron_controller *c, const struct object *cron_job, struct memory *m,
            const struct cron_plan *plan, int64_t now_s)
{
    for (size_t i = 0; i < plan->n_ended; i++)
        record_event(c, cron_job, RECORD_NORMAL, EVENT_SAW_COMPLETED_JOB,
                     "Saw completed job: %s, condition: %s", plan->ended[i]->meta->name,
                     condition_of(plan->ended[i]));
    if (plan->mistake != NULL)
        record_event(c, cron_job, RECORD_WARNING, EVENT_UNPARSEABLE_SCHEDULE,
                     "unparseable schedule: %s", plan->mistake);
    if (m->told_s + 60 > now_s && m->told_s <= now_s)
        return;
    if (plan->missed > CRON_MISSED_MAX)
        record_event(c, cron_job, RECORD_WARNING, EVENT_TOO_MANY_MISSED_TIMES,
                     "too many missed start times. Set or decrease "
                     ".spec.startingDeadlineSeconds or check clock skew");
    if (plan->is_too_late)
        record_event(c, cron_job, RECORD_WARNING, EVENT_MISS_SCHEDULE,
                     "Missed scheduled time to start a job");
    if (plan->is_waiting)
        record_event(c, cron_job, RECORD_NORMAL, EVENT_JOB_ALREADY_ACTIVE,
                     "Not starting job because prior execution is running and "
                     "concurrency policy is Forbid");
    if (plan->missed > CRON_MISSED_MAX || plan->is_too_late || plan->is_waiting)
        m->told_s = now_s;
}

static void
write_plan(struct cron_controller *c, const char *key, const struct object *cron_job,
           const struct cron_plan *plan, struct arena *arena TAKES)
{
    struct pending_calls *calls = pending_calls_begin(c->client, c->queue, key);
    struct json *body;

    for (size_t i = 0; i < plan->n_remove; i++) {
        record_event(c, cron_job, RECORD_NORMAL, EVENT_SUCCESSFUL_DELETE, "Deleted job %s",
                     plan->remove[i]->meta->name);
        pending_calls_delete(calls, plan->remove[i]);
    }
    if (plan->status == NULL)
        arena_free(arena);
    else {
        body = json_object(arena);
        json_set(arena, body, "status", plan->status);
        json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                        cron_job->meta->resource_version);
        pending_calls_patch(calls, arena, cron_job, "status", body);
    }
    pending_calls_end(calls);
}

static void
wake(struct cron_controller *c, const char *key, int64_t at_s)
{
    int64_t ms = at_s * 1000 - clock_real_us(c->clock) / 1000;

    if (at_s != 0)
        workqueue_add_after(c->queue, key, ms > 0 ? ms + 1 : 1);
}

static bool
open_zone(struct cron_controller *c, const struct object *cron_job, struct time_zone **ret_zone)
{
    const char *name = cron_job_of(cron_job)->spec.time_zone;
    struct error err = {0};

    if (time_zone_open(name, ret_zone, &err) == 0)
        return true;
    *ret_zone = NULL;
    if (name == NULL)
        return true; /* the controller's own zone cannot be read: use UTC */
    record_event(c, cron_job, RECORD_WARNING, EVENT_UNKNOWN_TIME_ZONE, "invalid timeZone: %s",
                 err.text);
    return false;
}

static void
work_on_cron_job(const char *key, void *context)
{
    struct cron_controller *c = context;
    const struct object *cron_job = object_cache_find_key(c->cache, &cron_job_kind, key);
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct cron_situation s = {.cron_job = cron_job};
    struct cron_plan plan;
    struct arena *arena;
    struct memory *m;

    if (cron_job == NULL || cron_job->meta->deleted_at_us != 0 || !object_cache_has_synced(c->cache)
        || !open_zone(c, cron_job, &zone)) {
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    m = memory_of(c, cron_job->meta->uid);
    m->is_known = true;
    arena = arena_new(0);
    s.jobs = list_jobs(m, arena, &s.n_jobs);
    s.now_s = clock_real_us(c->clock) / SECOND_US;
    s.last_s = m->last_s;
    s.not_before_s = m->not_before_s;
    s.zone = zone;
    cron_plan_make(&s, arena, &plan);
    record_plan(c, cron_job, m, &plan, s.now_s);
    wake(c, key, plan.wake_s);
    /* A Job is created only in a pass that has nothing else to write: each
     * write adds the key again.
     */
    if (plan.status != NULL || plan.n_remove > 0)
        write_plan(c, key, cron_job, &plan, arena);
    else {
        if (plan.due_s != 0)
            start_job(c, key, cron_job, zone, plan.due_s);
        else
            workqueue_done(c->queue, key, WORKQUEUE_OK);
        arena_free(arena);
    }
}

/* ---- Events ---- */

static void
on_cron_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct cron_controller *c = context;
    const struct object *object = new_object ? new_object : old_object;
    const struct cron_job *is = cron_job_of(object), *was;
    struct memory *m = memory_of(c, object->meta->uid);
    char key[OBJECT_KEY_SIZE];

    m->is_known = new_object != NULL;
    forget_if_empty(c, object->meta->uid);
    if (new_object == NULL)
        return;
    was = old_object != NULL ? cron_job_of(old_object) : is;
    /* Times of the new schedule that lie before its change are not made up for.
     */
    if (!text_equals(was->spec.schedule, is->spec.schedule)
        || !text_equals(was->spec.time_zone, is->spec.time_zone))
        m->not_before_s = clock_real_us(c->clock) / SECOND_US;
    object_key(object, key);
    if (object_cache_has_synced(c->cache))
        workqueue_add(c->queue, key);
}

/* The CronJob that controls the Job, if the reference has uid and name; or
 * NULL.
 */
static const struct owner_reference *
find_owner(const struct object *job)
{
    const struct owner_reference *owner =
        job != NULL ? meta_controller_of(job->meta, &cron_job_kind) : NULL;

    return owner != NULL && owner->uid != NULL && owner->name != NULL ? owner : NULL;
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct cron_controller *c = context;
    const struct object *job = new_object ? new_object : old_object;
    const struct owner_reference *was = find_owner(old_object);
    const struct owner_reference *is = find_owner(new_object);
    const struct owner_reference *owner = is != NULL ? is : was;
    CLEANUP_FREE char *key = NULL;

    if (was != NULL) {
        object_map_remove(memory_of(c, was->uid)->jobs, job->meta->namespace, job->meta->name);
        forget_if_empty(c, was->uid);
    }
    if (is != NULL)
        object_map_put(memory_of(c, is->uid)->jobs, new_object);
    if (owner == NULL || !object_cache_has_synced(c->cache))
        return;
    key = xasprintf("%s/%s", job->meta->namespace, owner->name);
    workqueue_add(c->queue, key);
}

static void
add_cron_job(const struct object *cron_job, void *context)
{
    struct cron_controller *c = context;
    char key[OBJECT_KEY_SIZE];

    object_key(cron_job, key);
    workqueue_add(c->queue, key);
}

static void
on_synced(void *context)
{
    struct cron_controller *c = context;

    object_cache_visit(c->cache, &cron_job_kind, add_cron_job, c);
}

struct cron_controller *
cron_controller_new(struct loop *loop, struct client *client, struct object_cache *cache,
                    struct clock *clock)
{
    struct cron_controller *c = xnew(struct cron_controller);

    c->client = client;
    c->cache = cache;
    c->clock = clock;
    c->event_recorder = event_recorder_new(client, clock, "cronjob-controller", NULL);
    c->memories = map_new();
    list_init(&c->starts);
    c->queue = workqueue_new(loop, PARALLEL, work_on_cron_job, c);
    workqueue_follow_clock(c->queue, clock); /* schedules follow the real clock */
    object_cache_listen(cache, &cron_job_kind, on_cron_job, c);
    object_cache_listen(cache, &job_kind, on_job, c);
    object_cache_on_synced(cache, on_synced, c);
    return c;
}

void
cron_controller_free(struct cron_controller *c)
{
    size_t at = 0;
    void *m;

    if (c == NULL)
        return;
    while (!list_is_empty(&c->starts)) {
        struct start *s = container_of(c->starts.next, struct start, link);

        client_cancel(s->call);
        start_free(s);
    }
    workqueue_free(c->queue);
    event_recorder_free(c->event_recorder);
    while (map_next(c->memories, &at, NULL, &m))
        free_memory(m);
    map_free(c->memories);
    free(c);
}
