/* SPDX-License-Identifier: Apache-2.0 */
/* A sync has many calls under way and ends when the last is answered; the key is worked on by
 * nobody else until then. Pods are marked before they are deleted, in two calls and in this
 * order, because the agent must see why it ends a pod before it is told to. A conflict is not
 * an error: the watch shows what was changed, and the next sync decides with it.
 */
#include "controller/lifecycle/job/job_sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_report.h"
#include "controller/lifecycle/job/pods_to_remove.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

struct job_sync {
    const struct job_sync_settings *settings;
    const struct object *job;
    unsigned calls; /* pending calls, plus 1 until job_sync_end */
    bool has_failed;
    bool waits_for_quota; /* the last refusal is a quota's */
    bool is_news;         /* and the Job did not wait for that quota before */
};

struct job_sync *
job_sync_begin(const struct job_sync_settings *settings, const struct object *job)
{
    struct job_sync *sync = xnew(struct job_sync);

    sync->settings = settings;
    sync->job = object_ref(job);
    sync->calls = 1;
    return sync;
}

static void
end_call(struct job_sync *sync)
{
    if (--sync->calls > 0)
        return;
    sync->settings->done(sync->job, sync->has_failed, sync->settings->context);
    object_unref(sync->job);
    free(sync);
}

void
job_sync_end(struct job_sync *sync)
{
    end_call(sync);
}

const struct object *
job_sync_job(const struct job_sync *sync)
{
    return sync->job;
}

struct client *
job_sync_begin_call(struct job_sync *sync)
{
    sync->calls++;
    return sync->settings->client;
}

void
job_sync_end_call(struct job_sync *sync, bool has_failed)
{
    sync->has_failed = sync->has_failed || has_failed;
    end_call(sync);
}

bool
job_sync_refuse(struct job_sync *sync, int64_t index, int64_t attempt, const char *words)
{
    bool is_new = false;

    sync->waits_for_quota =
        sync->settings->refused(sync->job, index, attempt, words, &is_new, sync->settings->context);
    sync->is_news = is_new || (sync->is_news && sync->waits_for_quota);
    return !sync->waits_for_quota;
}

struct live_visit {
    object_cache_visit_fn *visit;
    void *context;
};

static void
visit_if_live(const struct object *pod, void *context)
{
    const struct live_visit *v = context;

    if (!pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0)
        v->visit(pod, v->context);
}

void
job_sync_visit_live(const struct job_sync *sync,
                    void (*visit)(const struct object *pod, void *context), void *context)
{
    struct live_visit v = {visit, context};

    object_cache_visit_owned(sync->settings->cache, sync->job->meta->uid, visit_if_live, &v);
}

/* ---- Creates ---- */

struct create {
    struct job_sync *sync;
    int64_t index;
    int64_t attempt;
};

static char *
name_of_created(const struct create *create)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return xstrdup(
        job_pod_name(arena, create->sync->job->meta->name, create->index, create->attempt));
}

/* The pod may exist from an earlier try, as the watch shows; a pod of that name
 * may also belong to another owner.
 */
static bool
is_made_already(const struct create *create, const char *name)
{
    const struct object *job = create->sync->job;
    const struct object *pod =
        object_cache_find(create->sync->settings->cache, &pod_kind, job->meta->namespace, name);

    return pod == NULL || meta_is_controlled_by(pod->meta, job);
}

void
job_sync_record_refusal(struct job_sync *sync, const char *words)
{
    CLEANUP_FREE char *message = NULL;

    if (sync->waits_for_quota && !sync->is_news)
        return;
    sync->is_news = false;
    if (sync->waits_for_quota)
        log_info("job '%s/%s' waits for a quota: %s", sync->job->meta->namespace,
                 sync->job->meta->name, words);
    else
        log_warning("cannot create a pod of job '%s': %s, trying again", sync->job->meta->name,
                    words);
    message = xasprintf("Error creating: %.500s", words);
    event_recorder_record(sync->settings->event_recorder, sync->job, RECORD_WARNING,
                          EVENT_FAILED_CREATE, message);
}

static void
refuse_create(struct create *create, const struct client_reply *reply)
{
    struct job_sync *sync = create->sync;
    struct error err = {0};

    if (client_reply_error(reply, &err) == -ECANCELED)
        sync->has_failed = true;
    else {
        if (job_sync_refuse(sync, create->index, create->attempt, err.text))
            sync->has_failed = true;
        job_sync_record_refusal(sync, err.text);
    }
}

static void
on_created(const struct client_reply *reply, void *context)
{
    struct create *create = context;
    struct job_sync *sync = create->sync;
    CLEANUP_FREE char *name = name_of_created(create);

    if (reply->code == 201 || reply->code == 200) {
        CLEANUP_FREE char *message = xasprintf("Created pod: %s", name);

        event_recorder_record(sync->settings->event_recorder, sync->job, RECORD_STEP,
                              EVENT_SUCCESSFUL_CREATE, message);
    } else if (reply->code != 409 || !is_made_already(create, name)) {
        refuse_create(create, reply);
    }
    free(create);
    end_call(sync);
}

void
job_sync_create(struct job_sync *sync, const struct job_plan_pod *pod)
{
    struct arena *arena = arena_new(8192);
    struct create *create = xnew(struct create);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_kind,
        .namespace = sync->job->meta->namespace,
        .body = job_pod_make(arena, sync->job, pod),
    };

    create->sync = sync;
    create->index = pod->index;
    create->attempt = pod->attempt;
    sync->calls++;
    client_call(sync->settings->client, arena, &request, on_created, create);
}

/* ---- Deletes ---- */

/* Returns false if the call is to be tried again. */
static bool
check_written(struct job_sync *sync, const struct client_reply *reply)
{
    struct error err = {0};

    if (reply->code != 0 && (reply->code < 400 || reply->code == 404))
        return true;
    client_reply_error(reply, &err);
    /* The next attempt will be refused as well, so the log has to show it. */
    if (reply->code == 400 || reply->code == 422)
        log_warning("job '%s/%s': %s, trying again", sync->job->meta->namespace,
                    sync->job->meta->name, err.text);
    else
        log_debug("job '%s': %s, trying again", sync->job->meta->name, err.text);
    sync->has_failed = true;
    return false;
}

void
job_sync_end_write(struct job_sync *sync, const struct client_reply *reply)
{
    (void)check_written(sync, reply);
    end_call(sync);
}

struct removal {
    struct job_sync *sync;
    char *pod_name;
};

static void
end_removal(struct removal *removal)
{
    struct job_sync *sync = removal->sync;

    free(removal->pod_name);
    free(removal);
    end_call(sync);
}

static void
on_deleted(const struct client_reply *reply, void *context)
{
    struct removal *removal = context;
    struct job_sync *sync = removal->sync;
    CLEANUP_FREE char *message = xasprintf("Deleted pod: %s", removal->pod_name);

    if (check_written(sync, reply) && reply->code != 404)
        event_recorder_record(sync->settings->event_recorder, sync->job, RECORD_STEP,
                              EVENT_SUCCESSFUL_DELETE, message);
    end_removal(removal);
}

static void
send_delete(struct removal *removal)
{
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_kind,
        .namespace = removal->sync->job->meta->namespace,
        .name = removal->pod_name,
    };

    client_call(removal->sync->settings->client, NULL, &request, on_deleted, removal);
}

static struct removal *
remove_pod(struct job_sync *sync, const struct object *pod)
{
    struct removal *removal = xnew(struct removal);

    removal->sync = sync;
    removal->pod_name = xstrdup(pod->meta->name);
    sync->calls++;
    return removal;
}

void
job_sync_delete_pod(struct job_sync *sync, const struct object *pod)
{
    send_delete(remove_pod(sync, pod));
}

static void
on_marked(const struct client_reply *reply, void *context)
{
    struct removal *removal = context;

    if (check_written(removal->sync, reply) && reply->code != 404)
        send_delete(removal);
    else
        end_removal(removal);
}

/* The mark is written before the deletion, so that the agent sees them in this
 * order.
 */
static void
mark_and_delete(struct job_sync *sync, const struct object *pod, const char *annotation,
                const char *other)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *annotations;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_kind,
        .namespace = pod->meta->namespace,
        .name = pod->meta->name,
        .body = body,
    };

    annotations = json_make_object(arena, body, "metadata");
    annotations = json_make_object(arena, annotations, "annotations");
    json_set_string(arena, annotations, annotation, "true");
    if (other != NULL)
        json_set_string(arena, annotations, other, "true");
    client_call(sync->settings->client, arena, &request, on_marked, remove_pod(sync, pod));
}

/* The job starts again later, so a checkpoint that its command saves is of use.
 */
static bool
wants_checkpoint(const struct job_sync *sync, const struct object *pod)
{
    const struct execution *e = pod_of(pod)->spec.execution;

    return e != NULL && e->checkpoint_command != NULL && e->checkpoint_command[0] != '\0'
           && !job_is_cancelled(job_of(sync->job));
}

static void
delete_pod(const struct object *object, void *context)
{
    if (wants_checkpoint(context, object))
        mark_and_delete(context, object, ANNOTATION_CHECKPOINT, NULL);
    else
        send_delete(remove_pod(context, object));
}

void
job_sync_requeue_pod(struct job_sync *sync, const struct object *pod)
{
    mark_and_delete(sync, pod, ANNOTATION_REQUEUE_BEFORE,
                    wants_checkpoint(sync, pod) ? ANNOTATION_CHECKPOINT : NULL);
}

static void
requeue_pod(const struct object *pod, void *context)
{
    job_sync_requeue_pod(context, pod);
}

void
job_sync_end_rest(struct job_sync *sync, bool is_excused)
{
    job_sync_visit_live(sync, is_excused ? requeue_pod : delete_pod, sync);
}

void
job_sync_delete_active(struct job_sync *sync)
{
    job_sync_visit_live(sync, delete_pod, sync);
}

void
job_sync_record_foreign_group(const struct job_sync *sync)
{
    const struct object *job = sync->job;
    CLEANUP_FREE char *message =
        xasprintf("PodGroup '%s' is not of this job, whose pods have to be placed together under "
                  "that name; delete it, or submit the job under another name",
                  job->meta->name);

    event_recorder_record(sync->settings->event_recorder, job, RECORD_WARNING, EVENT_FAILED_CREATE,
                          message);
}

void
job_sync_record_made(const struct job_sync *sync, unsigned n_pods, const char *group)
{
    CLEANUP_FREE char *message = xasprintf("Created %u pods of group %s", n_pods, group);

    event_recorder_record(sync->settings->event_recorder, sync->job, RECORD_STEP,
                          EVENT_SUCCESSFUL_CREATE, message);
}

/* ---- Pods of a Job that was updated ---- */

/* A task of an array that has a node keeps what it was placed with. */
bool
job_sync_is_outdated(const struct object *pod, const struct object *job)
{
    const char *node = pod_of(pod)->spec.node_name;

    return !job_update_is_current(pod->meta, job->meta)
           && !(job_is_array(job_of(job)) && node != NULL && node[0] != '\0');
}

struct updating {
    struct job_sync *sync;
    unsigned count, limit;
};

/* 403: a quota refuses the update, and that is the reason why the Job waits. */
static void
on_updated(const struct client_reply *reply, void *context)
{
    struct job_sync *sync = context;
    struct error err = {0};

    if (reply->code == 403 && client_reply_error(reply, &err) < 0) {
        if (!sync->settings->updated(sync->job, err.text, sync->settings->context))
            sync->has_failed = true;
    } else if (check_written(sync, reply)) {
        (void)sync->settings->updated(sync->job, NULL, sync->settings->context);
    }
    end_call(sync);
}

/* Sends the resource version, so that a pod that gets a node meanwhile is not
 * changed.
 */
static void
update_pod(const struct object *pod, void *context)
{
    struct updating *u = context;
    const struct object *job = u->sync->job;
    struct arena *arena;
    struct client_request request = {
        .verb = CLIENT_REPLACE,
        .kind = &pod_kind,
        .namespace = pod->meta->namespace,
        .name = pod->meta->name,
    };

    if (u->count == u->limit || !job_sync_is_outdated(pod, job))
        return;
    arena = arena_new(0);
    request.body = object_tree(pod, arena);
    job_update_pod(arena, request.body, object_tree(job, arena));
    u->count++;
    u->sync->calls++;
    client_call(u->sync->settings->client, arena, &request, on_updated, u->sync);
}

unsigned
job_sync_update_pods(struct job_sync *sync, unsigned limit)
{
    struct updating u = {.sync = sync, .limit = limit};

    job_sync_visit_live(sync, update_pod, &u);
    return u.count;
}

/* ---- Pods beyond the wanted number ---- */

/* The pod is marked first, so that its end never counts as a failure. */
static void
remove_unwanted(struct job_sync *sync, const struct object *pod)
{
    mark_and_delete(sync, pod, ANNOTATION_SURPLUS, NULL);
}

struct live_pods {
    const struct object **items;
    size_t count, room;
};

static void
add_live(const struct object *object, void *context)
{
    struct live_pods *live = context;

    if (live->count == live->room) {
        live->room = live->room > 0 ? live->room * 2 : 64;
        live->items = xrealloc_array(live->items, live->room, sizeof(*live->items));
    }
    live->items[live->count++] = object;
}

void
job_sync_remove_pods(struct job_sync *sync, int64_t n)
{
    struct live_pods live = {0};

    job_sync_visit_live(sync, add_live, &live);
    pods_to_remove_sort(job_of(sync->job), live.items, live.count);
    for (size_t i = 0; i < live.count && (int64_t)i < n; i++)
        remove_unwanted(sync, live.items[i]);
    free(live.items);
}

/* ---- The status ---- */

/* The status write, and the event to record after it. */
struct writing {
    struct job_sync *sync;
    bool is_warning;
    char *reason; /* NULL: no event */
    char *message;
};

static void
on_written(const struct client_reply *reply, void *context)
{
    struct writing *writing = context;
    struct job_sync *sync = writing->sync;

    if (check_written(sync, reply) && writing->reason != NULL)
        event_recorder_record(sync->settings->event_recorder, sync->job,
                              writing->is_warning ? RECORD_WARNING : RECORD_NORMAL, writing->reason,
                              writing->message);
    free(writing->reason);
    free(writing->message);
    free(writing);
    end_call(sync);
}

void
job_sync_write(struct job_sync *sync, struct arena *arena TAKES, struct json *status,
               const struct job_event *event)
{
    struct json *body = json_object(arena);
    struct writing *writing = xnew(struct writing);
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &job_kind,
        .namespace = sync->job->meta->namespace,
        .name = sync->job->meta->name,
        .subresource = "status",
        .body = body,
    };

    json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                    sync->job->meta->resource_version);
    json_set(arena, body, "status", status);
    writing->sync = sync;
    if (event->reason != NULL) {
        writing->is_warning = event->is_warning;
        writing->reason = xstrdup(event->reason);
        writing->message = xstrdup(event->message);
    }
    sync->calls++;
    client_call(sync->settings->client, arena, &request, on_written, writing);
}
