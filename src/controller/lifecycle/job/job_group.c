/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_group.h"

#include <sys/types.h>

#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_sync.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

static struct json *
make_meta(struct arena *arena, const struct object *job)
{
    struct json *meta = json_object(arena), *annotations = json_object(arena);
    const char *user = string_map_find(&job->meta->annotations, ANNOTATION_USER);
    uid_t uid;

    json_set_string(arena, meta, "name", job->meta->name);
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
make_group(struct arena *arena, const struct object *job)
{
    struct json *group = json_object(arena);
    struct json *spec = json_dup(arena, json_get_path(object_tree(job, arena), "spec.scheduling"));
    struct json *gang = json_get_path(spec, "schedulingPolicy.gang");

    if (gang != NULL)
        json_set_int(arena, gang, "minCount", job_gang_least(job_of(job)));
    json_set_string(arena, group, "apiVersion", pod_group_kind.api_version);
    json_set_string(arena, group, "kind", pod_group_kind.name);
    json_set(arena, group, "metadata", make_meta(arena, job));
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
create(struct job_sync *sync)
{
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_group_kind,
        .namespace = job_sync_job(sync)->meta->namespace,
        .body = make_group(arena, job_sync_job(sync)),
    };

    client_call(job_sync_begin_call(sync), arena, &request, on_created, sync);
}

static void
on_updated(const struct client_reply *reply, void *context)
{
    job_sync_end_write(context, reply);
}

static void
update_count(struct job_sync *sync, int64_t least)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *at;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_group_kind,
        .namespace = job_sync_job(sync)->meta->namespace,
        .name = job_sync_job(sync)->meta->name,
        .body = body,
    };

    at = json_make_object(arena, json_make_object(arena, body, "spec"), "schedulingPolicy");
    json_set_int(arena, json_make_object(arena, at, "gang"), "minCount", least);
    client_call(job_sync_begin_call(sync), arena, &request, on_updated, sync);
}

void
job_group_sync(struct job_sync *sync, const struct object_cache *cache)
{
    const struct object *job = job_sync_job(sync), *group;
    int64_t least = job_gang_least(job_of(job));

    if (job_of(job)->spec.scheduling == NULL)
        return;
    group = object_cache_find(cache, &pod_group_kind, job->meta->namespace, job->meta->name);
    if (group == NULL)
        create(sync);
    else if (!meta_is_controlled_by(group->meta, job))
        job_sync_tell_foreign_group(sync);
    else if (least > 0 && pod_group_least(group) != least)
        update_count(sync, least);
}
