/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/phantom.h"

#include "controller/scheduler/cache.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "lib/api/kind.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define HIGHEST_PRIORITY 2000001000 /* system-node-critical */

static struct json *
make_tree(struct arena *arena,
          const char *node,
          const char *uid,
          const struct json *remnant)
{
    struct json *pod = json_object(arena);
    struct json *meta = json_make_object(arena, pod, "metadata");
    struct json *spec = json_make_object(arena, pod, "spec");
    struct json *status = json_make_object(arena, pod, "status");
    struct json *containers = json_array(arena);
    struct json *container = json_object(arena);
    const char *left_at = json_get_text(remnant, "leftAt");

    json_set_string(arena, meta, "name", json_get_text(remnant, "name"));
    json_set_string(arena,
                    meta,
                    "namespace",
                    json_get_text(remnant, "namespace"));
    json_set_string(arena, meta, "uid", uid);
    json_set_string(arena, meta, "resourceVersion", "0");
    if (left_at != NULL)
        json_set_string(arena, meta, "deletionTimestamp", left_at);
    json_set_string(arena, spec, "nodeName", node);
    json_set_int(arena, spec, "priority", HIGHEST_PRIORITY);
    json_set_string(arena, container, "name", "main");
    json_set(arena,
             json_make_object(arena, container, "resources"),
             "requests",
             json_dup(arena, json_get(remnant, "requests")));
    json_append(arena, containers, container);
    json_set(arena, spec, "containers", containers);
    json_set_string(arena, status, "phase", "Running");
    json_set(arena,
             status,
             "allocation",
             json_dup(arena, json_get(remnant, "allocation")));
    return pod;
}

/* A pod as it was, as far as it counts. NULL: it makes no sense. */
static struct pod_view *
make_phantom(struct scheduler *s,
             const struct object *node,
             const char *uid,
             const struct json *remnant)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = make_tree(arena, node->meta->name, uid, remnant);
    const struct object *pod;
    struct pod_view *view;
    struct error err = {0};

    if (record_normalize(pod_kind.record, arena, tree, NULL, &err) < 0) {
        log_warning("node '%s': what is left of pod '%s' cannot be read: %s, "
                    "ignoring",
                    node->meta->name,
                    uid,
                    err.text);
        return NULL;
    }
    pod = object_new(&pod_kind, tree);
    view = pod_view_new(pod, s->resources);
    object_unref(pod);
    return view;
}

static void
rise(struct scheduler *s,
     const struct object *node,
     const char *uid,
     const struct json *remnant)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = make_phantom(s, node, uid, remnant);

    if (pod != NULL && cache_find_pod(s->cache, pod) == NULL)
        cache_set_pod(s->cache, pod, node->meta->name);
}

static void
lay(struct scheduler *s,
    const struct object *node,
    const char *uid,
    const struct json *remnant)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = make_phantom(s, node, uid, remnant);

    if (pod == NULL || !cache_remove_pod(s->cache, pod))
        return;
    queue_event(s->queue, &event_assigned_pod_delete, pod->object, NULL);
}

typedef void each_fn(struct scheduler *s,
                     const struct object *node,
                     const char *uid,
                     const struct json *remnant);

/* Calls for what is left on `node` and not on `other` (or NULL). */
static void
visit_difference(struct scheduler *s,
                 const struct object *node,
                 const struct object *other,
                 each_fn *each)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    const struct json *remnants;

    if (node == NULL || node_of(node)->status.remnants.count == 0)
        return;
    arena = arena_new(0);
    remnants = json_get_path(object_tree(node, arena), "status.remnants");
    for (uint32_t i = 0; i < json_count(remnants); i++) {
        const struct json_member *m = &remnants->members[i];

        if (other == NULL || node_find_remnant(node_of(other), m->name) == NULL)
            each(s, node, m->name, m->value);
    }
}

void
phantom_follow(struct scheduler *s,
               const struct object *old_node,
               const struct object *new_node)
{
    visit_difference(s, old_node, new_node, lay);
    visit_difference(s, new_node, old_node, rise);
}

void
phantom_rise(struct scheduler *s, const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    const struct node_view *v =
        cache_find_node(s->cache, pod_of(pod)->spec.node_name);
    const struct json *remnants;

    if (v == NULL || v->node == NULL
        || node_find_remnant(v->node, pod->meta->uid) == NULL)
        return;
    arena = arena_new(0);
    remnants = json_get_path(object_tree(v->object, arena), "status.remnants");
    rise(s, v->object, pod->meta->uid, json_get(remnants, pod->meta->uid));
}
