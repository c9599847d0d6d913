/* SPDX-License-Identifier: Apache-2.0 */
/* The PodGroup is made from the Job and not by the user, so that nobody can join the group of
 * another, and its name is the Job's. For a gang each attempt has a group of its own, created
 * in one transaction with all pods of the attempt (decision 616): a group that survived its
 * attempt would have its old members counted, and pods that were created one by one could
 * leave half a gang behind a controller that died.
 */
#include "controller/lifecycle/job/job_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "controller/lifecycle/job/job_plan.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_sync.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

static struct json *
make_meta(struct arena *arena, const struct object *job, int64_t attempt)
{
    struct json *meta = json_object(arena), *annotations = json_object(arena);
    const char *user = string_map_find(&job->meta->annotations, ANNOTATION_USER);
    uid_t uid;

    json_set_string(arena, meta, "name", job_pod_group(arena, job, attempt));
    json_set_string(arena, meta, "namespace", job->meta->namespace);
    json_set(arena, meta, "ownerReferences", job_pod_owner(arena, job));
    if (object_owner(job, &uid)) {
        json_set(arena, annotations, ANNOTATION_UID, json_stringf(arena, "%u", (unsigned)uid));
        if (user != NULL)
            json_set_string(arena, annotations, ANNOTATION_USER, user);
        json_set(arena, meta, "annotations", annotations);
    }
    return meta;
}

/* The shapes of spec.scheduling and of a PodGroup's spec are the same. */
static struct json *
make_group(struct arena *arena, const struct object *job, int64_t attempt)
{
    struct json *group = json_object(arena);
    struct json *spec = json_dup(arena, json_get_path(object_tree(job, arena), "spec.scheduling"));
    struct json *gang = json_get_path(spec, "schedulingPolicy.gang");

    if (gang != NULL)
        json_set_int(arena, gang, "minCount", job_gang_least(job_of(job)));
    json_set_string(arena, group, "apiVersion", pod_group_kind.api_version);
    json_set_string(arena, group, "kind", pod_group_kind.name);
    json_set(arena, group, "metadata", make_meta(arena, job, attempt));
    json_set(arena, group, "spec", spec);
    return group;
}

/* 409: it was created before, and its event has not come yet; the next sync
 * sees whose it is.
 */
static void
on_created(const struct client_reply *reply, void *context)
{
    struct error err = {0};
    bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 409;

    if (has_failed)
        log_warning("job '%s': cannot make its PodGroup: %s, trying again",
                    job_sync_job(context)->meta->name, err.text);
    job_sync_end_call(context, has_failed);
}

static void
create(struct job_sync *sync, int64_t attempt)
{
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_group_kind,
        .namespace = job_sync_job(sync)->meta->namespace,
        .body = make_group(arena, job_sync_job(sync), attempt),
    };

    client_call(job_sync_begin_call(sync), arena, &request, on_created, sync);
}

static void
on_updated(const struct client_reply *reply, void *context)
{
    job_sync_end_write(context, reply);
}

static void
update_count(struct job_sync *sync, const char *group, int64_t least)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *at;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_group_kind,
        .namespace = job_sync_job(sync)->meta->namespace,
        .name = arena_strdup(arena, group),
        .body = body,
    };

    at = json_make_object(arena, json_make_object(arena, body, "spec"), "schedulingPolicy");
    json_set_int(arena, json_make_object(arena, at, "gang"), "minCount", least);
    client_call(job_sync_begin_call(sync), arena, &request, on_updated, sync);
}

/* ---- Attempts that are whole ---- */

struct gang_creation {
    struct job_sync *sync;
    unsigned n_pods;
    struct job_plan_pod pods[];
};

static bool
refuse_attempt(const struct gang_creation *a, const struct client_reply *reply)
{
    struct error err = {0};
    bool must_retry = false;

    if (client_reply_error(reply, &err) == -ECANCELED)
        return true;
    for (unsigned i = 0; i < a->n_pods; i++)
        must_retry =
            job_sync_refuse(a->sync, a->pods[i].index, a->pods[i].attempt, err.text) || must_retry;
    job_sync_record_refusal(a->sync, err.text);
    return must_retry;
}

static void
on_attempt(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct gang_creation *a = context;
    struct job_sync *sync = a->sync;
    bool has_failed = false;

    if (reply->code == 200)
        job_sync_record_made(sync, a->n_pods,
                             job_pod_group(arena, job_sync_job(sync), a->pods[0].attempt));
    else
        has_failed = refuse_attempt(a, reply);
    free(a);
    job_sync_end_call(sync, has_failed);
}

static void
on_removed(const struct client_reply *reply, void *context)
{
    job_sync_end_write(context, reply);
}

/* The group of the attempt before the last is of no more use to anybody. */
static void
remove_old(struct job_sync *sync, const struct object_cache *cache, int64_t attempt)
{
    const struct object *job = job_sync_job(sync), *group;
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_group_kind,
        .namespace = job->meta->namespace,
        .name = job_pod_group(arena, job, attempt),
    };

    group = object_cache_find(cache, &pod_group_kind, job->meta->namespace, request.name);
    if (group != NULL && meta_is_controlled_by(group->meta, job))
        client_call(job_sync_begin_call(sync), arena, &request, on_removed, sync);
    else
        arena_free(arena);
}

void
job_group_make_attempt(struct job_sync *sync, const struct object_cache *cache,
                       const struct job_plan_pod *pods, unsigned n)
{
    struct arena *arena = arena_new(65536);
    const struct object *job = job_sync_job(sync);
    const struct json *tree = object_tree(job, arena);
    struct json *body = json_object(arena), *bodies = json_array(arena);
    struct gang_creation *a = xmalloc(sizeof(*a) + n * sizeof(*pods));
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .name = job->meta->name,
        .subresource = "gang",
        .raw = true,
        .body = body,
    };

    a->sync = sync;
    a->n_pods = n;
    memcpy(a->pods, pods, n * sizeof(*pods));
    for (unsigned i = 0; i < n; i++)
        json_append(arena, bodies, job_pod_make_of(arena, job, tree, &pods[i]));
    json_set_string(arena, body, "uid", job->meta->uid); /* not a later job of that name */
    json_set(arena, body, "group", make_group(arena, job, pods[0].attempt));
    json_set(arena, body, "make", bodies);
    client_call(job_sync_begin_call(sync), arena, &request, on_attempt, a);
    if (pods[0].attempt >= 2)
        remove_old(sync, cache, pods[0].attempt - 2);
}

/* ---- The group ---- */

/* Whether the group is to exist: that of an attempt is created with its pods, and
 * again if somebody has deleted it while they wait.
 */
static bool
is_wanted(const struct job_pod_counts *counts)
{
    return !counts->indexes.is_whole || counts->live > counts->n_expected;
}

void
job_group_sync(struct job_sync *sync, const struct object_cache *cache,
               const struct job_pod_counts *counts)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    const struct object *job = job_sync_job(sync), *group;
    int64_t least = job_gang_least(job_of(job));
    int64_t attempt = counts->indexes.attempts > 0 ? counts->indexes.attempts - 1 : 0;

    if (job_of(job)->spec.scheduling == NULL || !is_wanted(counts))
        return;
    arena = arena_new(0);
    group = object_cache_find(cache, &pod_group_kind, job->meta->namespace,
                              job_pod_group(arena, job, attempt));
    if (group == NULL)
        create(sync, attempt);
    else if (!meta_is_controlled_by(group->meta, job))
        job_sync_record_foreign_group(sync);
    else if (least > 0 && pod_group_least(group) != least)
        update_count(sync, group->meta->name, least);
}

/* A group that is gone may be one that pods wait for. */
static void
on_group(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct owner_reference *owner;
    CLEANUP_FREE char *key = NULL;

    if (new_object != NULL || old_object == NULL)
        return;
    owner = meta_controller_of(old_object->meta, &job_kind);
    if (owner == NULL)
        return;
    key = xasprintf("%s/%s", old_object->meta->namespace, owner->name);
    workqueue_add(context, key);
}

void
job_group_follow(struct object_cache *cache, struct workqueue *queue)
{
    object_cache_listen(cache, &pod_group_kind, on_group, queue);
}
