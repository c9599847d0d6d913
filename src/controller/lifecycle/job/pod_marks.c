/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/pod_marks.h"

#include "controller/lifecycle/job/job_sync.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

static void
on_marked(const struct client_reply *reply, void *context)
{
    job_sync_end_write(context, reply);
}

/* Sets the annotation `name`; value NULL: removes it. */
static void
mark(struct job_sync *sync, const struct object *pod, const char *name, const char *value)
{
    const char *is = string_map_find(&pod->meta->annotations, name);
    struct arena *arena;
    struct json *body, *meta;
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &pod_kind,
        .namespace = pod->meta->namespace,
        .name = pod->meta->name,
    };

    if ((is != NULL) == (value != NULL))
        return;
    arena = arena_new(0);
    body = json_object(arena);
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "resourceVersion", pod->meta->resource_version);
    json_set(arena, json_make_object(arena, meta, "annotations"), name,
             value != NULL ? json_string(arena, value) : json_null(arena));
    request.body = body;
    client_call(job_sync_begin_call(sync), arena, &request, on_marked, sync);
}

static bool
is_placed(const struct object *pod)
{
    const char *node = pod_of(pod)->spec.node_name;

    return node != NULL && node[0] != '\0';
}

/* ---- Held ---- */

struct hold_walk {
    struct job_sync *sync;
    bool is_held;
};

static void
hold(const struct object *pod, void *context)
{
    const struct hold_walk *h = context;

    if (!is_placed(pod))
        mark(h->sync, pod, ANNOTATION_HOLD, h->is_held ? "true" : NULL);
}

void
pod_marks_hold_waiting(struct job_sync *sync, bool is_held)
{
    struct hold_walk h = {sync, is_held};

    job_sync_visit_live(sync, hold, &h);
}

/* ---- Frozen ---- */

static void
freeze(const struct object *pod, void *context)
{
    struct job_sync *sync = context;

    if (is_placed(pod))
        mark(sync, pod, ANNOTATION_FREEZE, job_find_freezer(job_of(job_sync_job(sync))));
}

void
pod_marks_freeze_placed(struct job_sync *sync)
{
    job_sync_visit_live(sync, freeze, sync);
}
