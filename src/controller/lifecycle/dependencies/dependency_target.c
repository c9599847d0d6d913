/* SPDX-License-Identifier: Apache-2.0 */
/* A target is known from three sources: its Job and pods in the cache, the store's record of
 * its elements, and history once it is gone. They are read only when somebody waits for what
 * they alone know, and a requeue makes the last two stale, so they are read again. A question
 * that cannot be answered now is not an answer: the waiter goes on waiting, and asks again.
 * "No such job in history" is one, and counts as cancelled.
 */
#include "controller/lifecycle/dependencies/dependency_target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "controller/lifecycle/dependencies/element_pods.h"
#include "controller/lifecycle/dependencies/task_watch.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct dependency_targets {
    struct dependency_targets_settings settings;
    struct map *targets; /* by uid */
    struct list asking;
    bool has_started;
};

/* A pending question to history or to the store; it may outlive the asker. */
struct ends_question {
    struct list link;
    struct dependency_targets *asker; /* NULL: was freed */
    char *uid;
    char *watch; /* the watch's key; NULL: about the whole job */
};

/* ---- Pods of elements ---- */

void
dependency_target_see_pod(struct dependency_target *t, const struct object *pod)
{
    const int64_t index = element_pods_index(pod);

    if (t->watches == NULL || index < 0 || element_pods_start(pod) == 0
        || index_set_has(&t->elements->begun, index))
        return;
    element_ends_begin(t->elements, index);
    task_watches_note_end(t->watches, t->elements, index);
}

/* Returns true if the list of cancelled tasks has changed. */
static bool
see_cancelled(struct dependency_targets *all, struct dependency_target *t, const struct job *job)
{
    const struct job_array *array = job->spec.array;
    const char *tasks = array != NULL && array->cancelled != NULL ? array->cancelled : "";

    if (!t->elements->is_loaded || !all->has_started
        || (t->cancelled != NULL && strcmp(t->cancelled, tasks) == 0))
        return false;
    free(t->cancelled);
    t->cancelled = xstrdup(tasks);
    element_pods_see_cancelled(all->settings.cache, t->uid, tasks, t->elements);
    return true;
}

int64_t
dependency_target_watch_began(struct dependency_targets *all, const struct dependency_target *t,
                              struct task_watch *watch)
{
    if (watch->began_us == 0)
        watch->began_us =
            element_pods_last_start(all->settings.cache, t->uid, t->elements, &watch->list);
    if (watch->began_us == 0)
        watch->began_us = clock_real_us(all->settings.clock);
    return watch->began_us;
}

/* ---- Elements ---- */

static const struct object *
find_job(const struct dependency_targets *all, const struct dependency_target *t)
{
    const struct object *object =
        object_cache_find(all->settings.cache, &job_kind, t->namespace, t->name);

    return object != NULL && strcmp(object->meta->uid, t->uid) == 0 ? object : NULL;
}

static void
check_elements(struct dependency_targets *all, struct dependency_target *t)
{
    all->settings.elements_changed(t, all->settings.context);
    if (t->watches != NULL)
        task_watches_check_all(t->watches, t->elements);
}

static void
close_elements(struct dependency_targets *all, struct dependency_target *t)
{
    if (t->elements == NULL)
        return;
    t->is_read = false; /* read again: the states are final now */
    element_ends_close(t->elements, t->state == JOB_STATE_COMPLETED, t->is_gone);
    check_elements(all, t);
}

/* A requeue makes ended elements run again, so their record is read again. */
static void
read_anew(struct dependency_targets *all, struct dependency_target *t, const struct job *job)
{
    element_ends_reset(t->elements);
    free(t->cancelled);
    t->cancelled = NULL;
    t->requeues = job_array_requeues(job);
    check_elements(all, t);
    t->is_read = false;
    dependency_target_read_elements(all, t);
}

static void
follow_elements(struct dependency_targets *all, struct dependency_target *t, const struct job *job)
{
    const bool was_known = t->elements->is_known;

    element_ends_follow(t->elements, job);
    if (was_known && t->requeues != job_array_requeues(job))
        read_anew(all, t, job);
    t->requeues = job_array_requeues(job);
    if (t->watches != NULL && (see_cancelled(all, t, job) || !was_known))
        task_watches_check_all(t->watches, t->elements);
}

void
dependency_target_need_elements(struct dependency_targets *all, struct dependency_target *t)
{
    const struct object *object = find_job(all, t);

    if (t->elements != NULL)
        return;
    t->elements = element_ends_new();
    if (object != NULL) {
        element_ends_follow(t->elements, job_of(object));
        t->requeues = job_array_requeues(job_of(object));
    }
    if (t->stage == DEPENDENCY_STAGE_ENDED)
        close_elements(all, t);
}

struct task_watch *
dependency_target_watch(struct dependency_targets *all, struct dependency_target *t,
                        const struct job_dependency *d)
{
    struct task_watch *watch;

    dependency_target_need_elements(all, t);
    if (t->watches == NULL) {
        t->watches = task_watches_new(all->settings.watch_changed, all->settings.context);
        element_pods_see_starts(all->settings.cache, t->uid, t->elements);
    }
    watch = task_watches_get(t->watches, job_dependency_type_of(d->type), d->tasks);
    t->n_watching++;
    task_watches_check(t->watches, watch, t->elements);
    return watch;
}

void
dependency_target_unwatch(struct dependency_targets *all, struct dependency_target *t,
                          struct task_watch *watch)
{
    t->n_watching--;
    if (list_is_empty(&watch->waiters))
        task_watches_drop(t->watches, watch);
    dependency_targets_release(all, t);
}

/* ---- Changes of the Job ---- */

static void
find_start(const struct object *object, void *context)
{
    int64_t *earliest = context;
    const int64_t began_us = element_pods_start(object);

    if (began_us != 0 && (*earliest == 0 || began_us < *earliest))
        *earliest = began_us;
}

static int64_t
find_began(const struct dependency_targets *all, const struct job *job)
{
    const struct job_run *run = job->status.last_run;
    int64_t began_us = run != NULL ? run->started_at_us : 0;

    object_cache_visit_owned(all->settings.cache, job->meta.uid, find_start, &began_us);
    if (began_us == 0)
        began_us = job_ended_at_us(job);
    return began_us != 0 ? began_us : clock_real_us(all->settings.clock);
}

static bool
has_started(const struct job *job)
{
    const struct job_run *run = job->status.last_run;

    switch (job_find_state(job)) {
    case JOB_STATE_RUNNING:
    case JOB_STATE_FROZEN:
    case JOB_STATE_UNKNOWN:
        return true;
    default:
        return run != NULL && run->started_at_us != 0;
    }
}

void
dependency_target_see(struct dependency_targets *all, struct dependency_target *t,
                      const struct object *object)
{
    const struct job *job = job_of(object);
    enum dependency_stage stage = job_is_finished(job) ? DEPENDENCY_STAGE_ENDED
                                  : has_started(job)   ? DEPENDENCY_STAGE_STARTED
                                                       : DEPENDENCY_STAGE_WAITS;

    if (t->elements != NULL)
        follow_elements(all, t, job);
    if (stage <= t->stage)
        return; /* a started job stays so, though its pods may wait again */
    if (t->stage < DEPENDENCY_STAGE_STARTED && stage >= DEPENDENCY_STAGE_STARTED)
        t->began_us = find_began(all, job);
    t->stage = stage;
    t->state = stage == DEPENDENCY_STAGE_ENDED ? job_find_state(job) : JOB_STATE_NONE;
    if (stage == DEPENDENCY_STAGE_ENDED)
        close_elements(all, t);
    all->settings.changed(t, all->settings.context);
}

/* The Job was deleted. If it had not ended, as far as is known here, the given
 * end counts.
 */
void
dependency_target_settle(struct dependency_targets *all, struct dependency_target *t,
                         enum job_state state, int64_t began_us)
{
    if (t->stage != DEPENDENCY_STAGE_ENDED) {
        if (t->stage < DEPENDENCY_STAGE_STARTED)
            t->began_us = began_us != 0 ? began_us : clock_real_us(all->settings.clock);
        t->stage = DEPENDENCY_STAGE_ENDED;
        t->state = state != JOB_STATE_NONE ? state : JOB_STATE_CANCELLED;
    }
    t->is_gone = true;
    close_elements(all, t);
    all->settings.changed(t, all->settings.context);
}

static bool
is_success(const char *phase)
{
    return phase != NULL && strcmp(phase, "Succeeded") == 0;
}

static void
find_success(const struct object *object, void *context)
{
    if (is_success(pod_of(object)->status.phase))
        *(bool *)context = true;
}

/* Whether the one pod of the Job has completed, as history will say. The Job's own
 * status may say so a second later, and a Job that is deleted never does.
 */
static bool
has_completed(const struct dependency_targets *all, const struct job *job)
{
    const int64_t *completions = job->spec.completions;
    const struct json *removed = job->status.removed_pods;
    bool has_success = job_find_condition(job, "SuccessCriteriaMet") != NULL;

    if (job_is_array(job) || completions == NULL || *completions != 1)
        return has_success;
    for (uint32_t i = 0; i < json_count(removed); i++)
        has_success =
            has_success || is_success(json_path_text(json_at(removed, i), "status.phase"));
    object_cache_visit_owned(all->settings.cache, job->meta.uid, find_success, &has_success);
    return has_success;
}

void
dependency_target_see_gone(struct dependency_targets *all, struct dependency_target *t,
                           const struct object *object)
{
    const struct job *job = job_of(object);

    dependency_target_settle(all, t, has_completed(all, job) ? JOB_STATE_COMPLETED : JOB_STATE_NONE,
                             find_began(all, job));
}

/* ---- Questions to history ---- */

static struct ends_question *
begin_question(struct dependency_targets *all, const struct dependency_target *t,
               const struct task_watch *watch)
{
    struct ends_question *question = xnew(struct ends_question);

    question->asker = all;
    question->uid = xstrdup(t->uid);
    question->watch = watch != NULL ? xstrdup(watch->key) : NULL;
    list_add_last(&all->asking, &question->link);
    return question;
}

static struct dependency_target *
find_asked(const struct ends_question *question)
{
    return question->asker != NULL ? map_find(question->asker->targets, question->uid) : NULL;
}

static void
end_question(struct ends_question *question)
{
    list_remove(&question->link);
    free(question->uid);
    free(question->watch);
    free(question);
}

static enum job_state
read_end(const struct client_reply *reply, int64_t *ret_began_us)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *answer = json_parse(arena, reply->text, reply->length, NULL, NULL);
    const char *began = json_get_text(answer, "startTime");

    if (began == NULL || time_parse(began, ret_began_us) < 0)
        *ret_began_us = 0;
    return job_state_of_name(json_get_text(answer, "state"));
}

/* 404: history has no end of the job, which counts as cancelled. After any
 * other error, the next verdict asks again.
 */
static void
on_end(const struct client_reply *reply, void *context)
{
    struct ends_question *question = context;
    struct dependency_targets *all = question->asker;
    struct dependency_target *t = find_asked(question);
    enum job_state state;
    int64_t began_us;

    if (t != NULL) {
        t->is_asked = false;
        if (reply->code == 404)
            dependency_target_settle(all, t, JOB_STATE_NONE, 0);
        else if (reply->code == 200) {
            state = read_end(reply, &began_us);
            dependency_target_settle(all, t, state, began_us);
        } else
            all->settings.changed(t, all->settings.context);
    }
    end_question(question);
}

/* 404: no task of the list has a row in history, so none has completed. */
static void
on_tasks_end(const struct client_reply *reply, void *context)
{
    struct ends_question *question = context;
    struct dependency_targets *all = question->asker;
    struct dependency_target *t = find_asked(question);
    struct task_watch *watch =
        t != NULL && t->watches != NULL ? task_watches_find(t->watches, question->watch) : NULL;

    if (watch != NULL) {
        watch->is_asked = false;
        if (reply->code == 200 || reply->code == 404) {
            int64_t began_us = 0;
            enum job_state state =
                reply->code == 200 ? read_end(reply, &began_us) : JOB_STATE_CANCELLED;

            if (watch->began_us == 0)
                watch->began_us = began_us;

            t->is_gone = true;
            task_watches_settle(t->watches, watch,
                                state != JOB_STATE_NONE ? state : JOB_STATE_CANCELLED);
        } else {
            all->settings.watch_changed(watch, all->settings.context);
        }
    }
    end_question(question);
}

static void
ask(struct dependency_targets *all, const struct dependency_target *t, struct task_watch *watch)
{
    CLEANUP_FREE char *query =
        xasprintf("uid=%s&id=%" PRId64 "%s%s", t->uid, t->id, watch != NULL ? "&tasks=" : "",
                  watch != NULL ? watch->tasks : "");
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = t->namespace,
        .name = t->name,
        .subresource = "end",
        .query = query,
        .raw = true,
    };

    client_call(all->settings.client, NULL, &request, watch != NULL ? on_tasks_end : on_end,
                begin_question(all, t, watch));
}

void
dependency_target_ask(struct dependency_targets *all, struct dependency_target *t)
{
    if (t->is_asked || t->stage != DEPENDENCY_STAGE_UNKNOWN || !all->has_started
        || list_is_empty(&t->edges))
        return;
    t->is_asked = true;
    ask(all, t, NULL);
}

bool
dependency_target_ask_of_watch(struct dependency_targets *all, struct dependency_target *t,
                               struct task_watch *watch)
{
    const bool is_missing = t->stage == DEPENDENCY_STAGE_UNKNOWN || t->elements->is_lost;

    if (!is_missing || watch->ended != JOB_STATE_NONE)
        return element_ends_needs_load(t->elements);
    if (!watch->is_asked && all->has_started) {
        watch->is_asked = true;
        ask(all, t, watch);
    }
    return true;
}

/* ---- The store's record of elements ---- */

static void
on_elements(const struct client_reply *reply, void *context)
{
    struct ends_question *question = context;
    struct dependency_targets *all = question->asker;
    struct dependency_target *t = find_asked(question);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *job;

    if (t != NULL && t->elements != NULL && --t->n_reading == 0) {
        t->is_read = reply->code == 200 && reply->text != NULL
                     && element_ends_load(
                         t->elements, json_parse(arena, reply->text, reply->length, NULL, NULL));
        job = find_job(all, t);
        if (t->is_read && t->watches != NULL && job != NULL)
            (void)see_cancelled(all, t, job_of(job));
        if (t->is_read)
            check_elements(all, t);
    }
    end_question(question);
}

void
dependency_target_read_elements(struct dependency_targets *all, struct dependency_target *t)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = t->namespace,
        .name = t->name,
        .subresource = "elements",
        .query = "view=record",
        .raw = true,
    };

    if (t->is_read || t->is_gone || !all->has_started || !element_ends_needs_load(t->elements))
        return;
    t->is_read = true;
    t->n_reading++;
    client_call(all->settings.client, NULL, &request, on_elements, begin_question(all, t, NULL));
}

/* ---- Life ---- */

struct dependency_target *
dependency_targets_find(const struct dependency_targets *all, const char *uid)
{
    return map_find(all->targets, uid);
}

struct dependency_target *
dependency_targets_get(struct dependency_targets *all, const struct job_dependency *dependency)
{
    struct dependency_target *t = map_find(all->targets, dependency->uid);
    const struct object *object;

    if (t != NULL)
        return t;
    t = xnew(struct dependency_target);
    list_init(&t->edges);
    t->id = dependency->job;
    t->uid = xstrdup(dependency->uid);
    t->namespace = xstrdup(dependency->namespace);
    t->name = xstrdup(dependency->name);
    map_put(all->targets, t->uid, t);
    object = find_job(all, t);
    if (object != NULL)
        dependency_target_see(all, t, object);
    return t;
}

static void
free_target(struct dependency_target *t)
{
    free(t->uid);
    free(t->namespace);
    free(t->name);
    free(t->cancelled);
    task_watches_free(t->watches);
    element_ends_free(t->elements);
    free(t);
}

void
dependency_targets_release(struct dependency_targets *all, struct dependency_target *t)
{
    if (!list_is_empty(&t->edges) || t->n_watching > 0)
        return;
    map_remove(all->targets, t->uid);
    free_target(t);
}

/* Applies the starts of pods that ran before the cache had synced. */
static void
start_watches(struct dependency_targets *all, struct dependency_target *t)
{
    struct task_watch *watch;
    size_t at = 0;

    element_pods_see_starts(all->settings.cache, t->uid, t->elements);
    task_watches_check_all(t->watches, t->elements);
    while (task_watches_next(t->watches, &at, &watch))
        (void)dependency_target_ask_of_watch(all, t, watch);
}

/* Targets that are not in the cache now are gone: history is asked. */
void
dependency_targets_start(struct dependency_targets *all)
{
    size_t at = 0;
    void *value;

    all->has_started = true;
    while (map_next(all->targets, &at, NULL, &value)) {
        struct dependency_target *t = value;

        dependency_target_ask(all, t);
        if (t->watches != NULL)
            start_watches(all, t);
    }
}

struct dependency_targets *
dependency_targets_new(const struct dependency_targets_settings *settings)
{
    struct dependency_targets *all = xnew(struct dependency_targets);

    all->settings = *settings;
    all->targets = map_new();
    list_init(&all->asking);
    return all;
}

void
dependency_targets_free(struct dependency_targets *all)
{
    size_t at = 0;
    void *value;

    if (all == NULL)
        return;
    list_foreach_safe(link, &all->asking)
    {
        ((struct ends_question *)link)->asker = NULL;
        list_remove(link);
    }
    while (map_next(all->targets, &at, NULL, &value))
        free_target(value);
    map_free(all->targets);
    free(all);
}
